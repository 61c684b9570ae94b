/**
 * The token floor: the highest token of all removed registers. It is raised before a register is removed, and read
 * after a register was found missing. So a resource never gets a lower token again, whatever the clock does.
 */

import { isWritten, type Register, type Registers } from './registers.ts'
import { decodeFloor, encodeFloor } from './rows.ts'

const FLOOR = ''

export async function readFloor<R extends Register>(registers: Registers<R>): Promise<number> {
  return floorOf(await readRegister(registers))
}

export async function raiseFloor<R extends Register>(registers: Registers<R>, token: number): Promise<void> {
  for (;;) {
    const register = await readRegister(registers)
    if (floorOf(register) >= token) return
    const written = await registers.write(FLOOR, encodeFloor(token), register, () => ({
      isListed: false,
      dueAt: null,
    }))
    if (isWritten(written)) return
  }
}

async function readRegister<R extends Register>(registers: Registers<R>): Promise<R | null> {
  const reading = await registers.read([FLOOR])
  return reading.registers[0] ?? null
}

function floorOf(register: Register | null): number {
  return register ? decodeFloor(register) : 0
}
