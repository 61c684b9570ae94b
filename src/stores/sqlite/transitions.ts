/**
 * Changes of leases, in one of two ways. The plain cases are to take a free resource, and to release one for which
 * nobody waits: each is a single statement, which changes nothing in any other case. All other cases are a
 * transition of `lease-row.ts` in a transaction. On a connection of the application only transactions are used,
 * because a single statement could run within a transaction that the application rolls back later.
 */
import type { Clock } from '../../base/clock.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { encodeShare } from '../../base/share.ts'
import { Effects, expire, isForgettable, newRow, type RowAsk, TOKENS_PER_MS } from '../lease-row.ts'
import type { Connection } from './connection.ts'
import { DELETE_AT_ONCE, KEEP_CHANGES, TRIM_EVERY, WATCH_FOR_MS } from './options.ts'
import type { Meta, Queries } from './queries.ts'
import { isQueueChanged, loadRow, saveQueue } from './queue.ts'
import { type DamagedRows, decodeRow, encodeRow, isSame, type SqliteRow, type StoredRow } from './rows.ts'

/** A transition of `lease-row.ts`. */
export type Step<T> = (row: SqliteRow, now: number, effects: Effects, unread: number) => T

export class Transitions {
  readonly #connection: Connection
  readonly #clock: Clock
  readonly #onCommit: (effects: Effects) => void
  /** The last one that was tried. */
  #token = 0
  /** As last read: single statements change nothing while somebody watches. */
  #watchUntil = 0

  /** `onCommit` gets the effects of a transaction after it is saved. */
  constructor(connection: Connection, clock: Clock, onCommit: (effects: Effects) => void) {
    this.#connection = connection
    this.#clock = clock
    this.#onCommit = onCommit
  }

  /** Grants a resource that is free and for which nobody waits. */
  grantIfFree(request: RowAsk): LeaseRecord | undefined {
    const now = this.#clock.now()
    const { share, atLeast, lockDelay } = request
    const isPlain = share === undefined && !atLeast && !lockDelay
    if (!isPlain || !this.#maySkipTransaction(now)) return undefined
    const token = this.#nextToken(now)
    if (!this.#connection.queries.grant(request, token, now)) return undefined
    const { resource, id, owner, ttl, metadata = null } = request
    return {
      resource,
      id,
      owner,
      token,
      metadata,
      share: null,
      acquiredAt: now,
      expiresAt: now + ttl,
      remaining: ttl,
      state: 'held',
    }
  }

  /** Ends a live lease that has not changed since it was granted, if nobody waits for it. */
  releaseIfUnchanged(lease: LeaseRecord): LeaseRecord | undefined {
    const now = this.#clock.now()
    if (!this.#maySkipTransaction(now) || !this.#connection.queries.release(lease, now)) return undefined
    return { ...lease, remaining: 0, state: 'released' }
  }

  /** The result of a transition that leaves the row as it is, such as a refusal. It needs no lock. */
  peek<T>(resource: string, id: string, step: Step<T>): T | undefined {
    if (this.#connection.shared) return undefined
    const { queries } = this.#connection
    const stored = queries.find(resource)
    if (!stored) return undefined
    const now = this.#clock.now()
    const loaded = loadRow(queries, stored, id, now)
    const result = step(loaded.row, now, new Effects(), loaded.unread)
    return isSame(stored, encodeRow(loaded.row)) && !isQueueChanged(loaded) ? result : undefined
  }

  transact<T>(work: (transaction: Transaction) => T): T {
    const { result, transaction } = this.#connection.transaction((queries) => {
      // The clock is read after the lock was taken, because time passes while a call waits for the lock.
      const transaction = new Transaction(queries, this.#clock.now())
      const result = work(transaction)
      transaction.writeChanges()
      return { result, transaction }
    })
    this.#watchUntil = transaction.meta.watchUntil
    this.#onCommit(transaction.effects)
    return result
  }

  #maySkipTransaction(now: number): boolean {
    return !this.#connection.shared && now >= this.#watchUntil
  }

  /** The clock in microseconds. Grants within the same millisecond have different tokens. */
  #nextToken(now: number): number {
    const first = Math.floor(now * TOKENS_PER_MS)
    const isSameMs = first <= this.#token && this.#token < first + TOKENS_PER_MS
    this.#token = isSameMs ? this.#token + 1 : first
    return this.#token
  }
}

/** One moment of the store's time, with the write lock. */
class Transaction {
  readonly now: number
  readonly queries: Queries
  readonly meta: Meta
  readonly effects = new Effects()

  constructor(queries: Queries, now: number) {
    this.queries = queries
    this.now = now
    this.meta = queries.meta()
  }

  /** `id`: the caller; `null`: none of the waiters. `undefined`: the resource has no row. */
  change<T>(resource: string, id: string | null, step: Step<T>): T | undefined {
    const stored = this.queries.find(resource)
    return stored && this.#apply(stored, id, step)
  }

  changeOrCreate<T>(resource: string, id: string, step: Step<T>): T {
    return this.#apply(this.queries.find(resource) ?? encodeRow(newRow(resource, this.meta.floor)), id, step)
  }

  /** Returns the leases that it ended. */
  sweep(damaged: DamagedRows, limit: number): readonly LeaseRecord[] {
    const swept: LeaseRecord[] = []
    // Damaged rows stay in this list forever, so it is read longer by their number.
    for (const stored of this.queries.overdue(this.now, limit + damaged.size)) {
      if (swept.length >= limit || !damaged.decode(stored, this.now)) continue
      const rest = limit - swept.length
      swept.push(...this.#apply(stored, null, (row, now, effects) => expire(row, now, effects, rest)))
    }
    return swept
  }

  /** Deletes rows that nobody needs; the highest of their tokens becomes the floor. Says whether it deleted all. */
  prune(): boolean {
    const { queries, now, meta } = this
    let { floor } = meta
    const found = queries.forgettable(now, DELETE_AT_ONCE)
    for (const stored of found) {
      if (!isForgettable(decodeRow(stored, now), now)) continue
      floor = Math.max(floor, stored.token)
      queries.forget(stored.resource)
    }
    if (floor > meta.floor) queries.setFloor(floor)
    // After the clock stepped back, `watch_until` may be far ahead though nobody watches.
    if (meta.watchUntil > now + WATCH_FOR_MS) queries.setWatchUntil(now + WATCH_FOR_MS)
    return found.length < DELETE_AT_ONCE
  }

  /** Writes the changes to the log, if anybody watches. */
  writeChanges(): void {
    if (this.meta.watchUntil <= this.now) return
    for (const lease of this.effects.changes) {
      const seq = this.queries.append(JSON.stringify({ ...lease, share: encodeShare(lease.share) }))
      if (seq % TRIM_EVERY === 0) this.queries.trim(seq - KEEP_CHANGES)
    }
  }

  #apply<T>(stored: StoredRow, id: string | null, step: Step<T>): T {
    const loaded = loadRow(this.queries, stored, id, this.now)
    const result = step(loaded.row, this.now, this.effects, loaded.unread)
    const after = encodeRow(loaded.row)
    if (!isSame(stored, after)) this.queries.save(after)
    if (isQueueChanged(loaded)) saveQueue(this.queries, loaded)
    return result
  }
}
