import { Effects, type LeaseRow, newRow } from '../lease-row.ts'
import type { Meta, Queries } from './queries.ts'
import { decodeRow, encodeRow, type StoredRow } from './stored-row.ts'

/** The log keeps about this many changes. */
const KEEP_CHANGES = 10_000
const TRIM_EVERY = 1000

/** A transition of `lease-row.ts`. */
export type Step<T> = (row: LeaseRow, now: number, effects: Effects) => T

/** One moment of the store's time, with the write lock. */
export class Transaction {
  readonly now: number
  readonly queries: Queries
  readonly meta: Meta
  readonly effects = new Effects()

  constructor(queries: Queries, now: number) {
    this.queries = queries
    this.now = now
    this.meta = queries.meta()
  }

  /** `undefined`: there is no such row. */
  change<T>(resource: string, step: Step<T>): T | undefined {
    const stored = this.queries.find(resource)
    return stored && this.apply(stored, step)
  }

  changeOrCreate<T>(resource: string, step: Step<T>): T {
    return this.apply(this.queries.find(resource) ?? encodeRow(newRow(resource, this.meta.floor)), step)
  }

  apply<T>(stored: StoredRow, step: Step<T>): T {
    const row = decodeRow(stored, this.now)
    const result = step(row, this.now, this.effects)
    const after = encodeRow(row)
    if (!isSame(stored, after)) this.queries.save(after)
    return result
  }

  /** For those who watch, if anybody does. */
  writeChanges(): void {
    if (this.meta.watchUntil <= this.now) return
    for (const lease of this.effects.changes) {
      const seq = this.queries.append(JSON.stringify(lease))
      if (seq % TRIM_EVERY === 0) this.queries.trim(seq - KEEP_CHANGES)
    }
  }
}

/** The other columns matter only if one of these is another. */
export function isSame(before: StoredRow, after: StoredRow): boolean {
  return after.id === before.id && after.expires_at === before.expires_at && after.line === before.line
}
