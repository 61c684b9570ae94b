import { LeaseError } from '../../core/index.ts'
import type { LeaseRow } from '../lease-row.ts'
import { decodeRow, type StoredRow } from './stored-row.ts'

/** Rows that cannot be understood are passed over where many are read, and told once each. */
export class DamagedRows {
  readonly #told = new Set<string>()

  get size(): number {
    return this.#told.size
  }

  decode(stored: StoredRow, now: number): LeaseRow | null {
    try {
      return decodeRow(stored, now)
    } catch (error) {
      if (!(error instanceof LeaseError)) throw error
      if (!this.#told.has(stored.resource)) process.emitWarning(error.message, 'HoldfastWarning')
      this.#told.add(stored.resource)
      return null
    }
  }
}
