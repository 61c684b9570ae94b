/** Reads and lists registers. Nothing is changed. */
import type { Stop } from '../../base/abort.ts'
import type { LeaseRecord } from '../../base/records.ts'
import type { LeasePage, ListQuery } from '../../core/index.ts'
import { cursorOf, pageOf } from '../lease-page.ts'
import { shownRecords } from '../lease-row.ts'
import type { Reading, Register, Registers } from './registers.ts'
import { type Row, readableRow } from './transitions.ts'

export class Queries<R extends Register> {
  readonly #registers: Registers<R>

  constructor(registers: Registers<R>) {
    this.#registers = registers
  }

  async read(resources: readonly string[]): Promise<LeaseRecord[][]> {
    const reading = await this.#registers.read(resources)
    const rows = reading.registers.map((register) => register && readableRow(register))
    const now = rows.some((row) => row && hasLeases(row)) ? await reading.now() : 0
    return rows.map((row) => (row ? shownRecords(row.state, now) : []))
  }

  async list(query: ListQuery, stop: Stop): Promise<LeasePage> {
    const { prefix = '', limit, after } = query
    const cursor = cursorOf(after)
    const isWithin = cursor.token < Infinity && cursor.resource.startsWith(prefix)
    const rest = isWithin ? readableRows(await this.#registers.read([cursor.resource])) : []
    const page = await this.#registers.list({ prefix, limit, after: cursor.resource }, stop.signal)
    const rows = [...rest, ...readableRows(page)]
    const now = rows.length > 0 ? await page.now() : 0
    const found = rows.flatMap(({ state }) => shownRecords(state, now))
    const { leases, next = page.next } = pageOf(found, query)
    return { leases, ...(next !== undefined && { next }) }
  }
}

export function hasLeases({ state }: Row): boolean {
  return state.leases.length > 0
}

export function readableRows<R extends Register>({ registers }: Reading<R, R | null>): Row<R>[] {
  return registers.map((register) => register && readableRow(register)).filter((row) => row !== null)
}
