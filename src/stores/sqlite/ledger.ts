/**
 * Changes leases, in one of two ways. The plain cases, to take what is free and to give back what nobody waits
 * for, are one statement each, which does nothing if the case is not so plain. Everything else is a step of
 * `lease-row.ts` under the write lock. A connection that is the application's has the second way only: it may be
 * within a transaction that is rolled back later, and a grant with it.
 */
import type { Ask, Clock, LeaseRecord } from '../../core/index.ts'
import { Effects } from '../lease-row.ts'
import type { Connection } from './connection.ts'
import { decodeRow, encodeRow } from './stored-row.ts'
import { isSame, type Step, Transaction } from './transaction.ts'

export class Ledger {
  readonly #connection: Connection
  readonly #clock: Clock
  readonly #onCommit: (effects: Effects) => void
  /** The last one that was tried. */
  #token = 0
  /** As last read: the one statement does nothing while somebody watches. */
  #watchUntil = 0

  /** `onCommit` is told what a transaction asks for, once it is saved. */
  constructor(connection: Connection, clock: Clock, onCommit: (effects: Effects) => void) {
    this.#connection = connection
    this.#clock = clock
    this.#onCommit = onCommit
  }

  /** Grants a resource that is free and for which nobody waits. */
  grantIfFree(request: Ask): LeaseRecord | undefined {
    const now = this.#clock.now()
    if (!this.#isPlain(now)) return undefined
    const token = this.#nextToken(now)
    if (!this.#connection.queries.grant(request, token, now)) return undefined
    const { resource, id, owner, ttl, metadata = null } = request
    const times = { acquiredAt: now, expiresAt: now + ttl, remaining: ttl }
    return { resource, id, owner, token, metadata, ...times, state: 'held' }
  }

  /** Ends a live lease that has not changed since it was granted, if nobody waits for it. */
  releaseIfUnchanged(lease: LeaseRecord): LeaseRecord | undefined {
    const now = this.#clock.now()
    if (!this.#isPlain(now) || !this.#connection.queries.release(lease, now)) return undefined
    return { ...lease, remaining: 0, state: 'released' }
  }

  /** The result of a step that leaves the row as it is, such as a refusal: that needs no lock. */
  peek<T>(resource: string, step: Step<T>): T | undefined {
    if (this.#connection.shared) return undefined
    const stored = this.#connection.queries.find(resource)
    if (!stored) return undefined
    const now = this.#clock.now()
    const row = decodeRow(stored, now)
    const result = step(row, now, new Effects())
    return isSame(stored, encodeRow(row)) ? result : undefined
  }

  transact<T>(work: (transaction: Transaction) => T): T {
    const { result, transaction } = this.#connection.transaction((queries) => {
      // Read with the lock in hand: while one waits for it, time passes.
      const transaction = new Transaction(queries, this.#clock.now())
      const result = work(transaction)
      transaction.writeChanges()
      return { result, transaction }
    })
    this.#watchUntil = transaction.meta.watchUntil
    this.#onCommit(transaction.effects)
    return result
  }

  #isPlain(now: number): boolean {
    return !this.#connection.shared && now >= this.#watchUntil
  }

  /** The clock in microseconds; grants within one of its ticks have tokens of their own. */
  #nextToken(now: number): number {
    const clock = Math.floor(now * 1000)
    this.#token = clock <= this.#token && this.#token < clock + 1000 ? this.#token + 1 : clock
    return this.#token
  }
}
