/**
 * The highest token of any lease that was forgotten. It is raised before an entry goes, and looked up once the
 * entry is found missing; so a resource that was forgotten never gets a lower token, whatever the clock does.
 */
import { contentOf, textOf, unreadable } from './content.ts'
import type { Entry, Registers } from './port.ts'

const FLOOR = ''

export async function floorToken<E extends Entry>(registers: Registers<E>): Promise<number> {
  const { entries } = await registers.read([FLOOR])
  return floorOf(entries[0] ?? null)
}

export async function raiseFloor<E extends Entry>(registers: Registers<E>, token: number): Promise<void> {
  for (;;) {
    const { entries } = await registers.read([FLOOR])
    const entry = entries[0] ?? null
    if (floorOf(entry) >= token) return
    const text = textOf({ type: 'floor', token })
    if (await registers.write(FLOOR, text, entry, { listed: false, dueIn: null })) return
  }
}

function floorOf(entry: Entry | null): number {
  if (!entry) return 0
  const content = contentOf(entry)
  if (content.type !== 'floor') throw unreadable(entry)
  return content.token
}
