import type { LeaseError } from '../base/errors.ts'
import type { JsonObject, LeaseRecord } from '../base/records.ts'

/**
 * The port under every lease, in two halves: holding, and looking at what others hold. A store judges time by its
 * own clock only, makes each call atomic, and rejects with a `LeaseError`: `store-unavailable` (retryable) when the
 * backend did not answer, `store-failed` when a retry cannot help, `closed` after `close()`.
 */
export interface LeaseStore extends HoldingStore, LookingStore, AsyncDisposable {}

/** All that a manager needs. */
export interface HoldingStore {
  /** A short name for messages and metrics, such as `memory` or `sqlite`. */
  readonly kind: string
  readonly supports: StoreSupport
  /** How busy the store is at this moment. Absent if it sends nothing. */
  readonly load?: StoreLoad

  /**
   * Grants the resource if it is free, or says who holds it.
   *
   * - Atomic: of any number of callers at most one is granted, and no other lease of the resource is live then.
   * - A repeated request with the id of the live holder is granted again: same token, expiry extended.
   * - The token of a grant is higher than every earlier token of the resource, whatever the clock does.
   * - A grant that follows an expired lease returns that lease as `replaced`, unless a sweep returned it.
   */
  acquire(ask: Ask, call?: CallOptions): Promise<Answer>

  /** Extends a live lease to `max(its expiry, now + ttl)`. Never creates one, and never revives an expired one. */
  renew(ask: RenewAsk, call?: CallOptions): Promise<Renewal>

  /**
   * Releases whatever the id has: the lease, a reservation or a place in the queue. With a `token` instead of the
   * id, the lease with that token is ended by force. `ended` is the lease that this call ended.
   */
  release(ask: ReleaseAsk, call?: CallOptions): Promise<Released>

  /**
   * The error of a call that got no answer, with what the client has said about its connection: the message names its
   * last error, and the `cause` is that error. Without such trouble, the error as it is.
   */
  explain?(error: LeaseError): LeaseError

  /** Closes what the store itself opened, never the client that it was given. Leases stay as they are. */
  close(): Promise<void>
}

/** For code that shows leases or cleans up. */
export interface LookingStore {
  /** The live leases of these resources, in the same order; `null` for a resource without one. */
  read(resources: readonly string[], call?: CallOptions): Promise<readonly (LeaseRecord | null)[]>

  /**
   * The waiters of these resources, in the same order. A waiter that the store knows to be dead is left out. Absent if
   * the store keeps no queue: see `supports.queue`.
   */
  waiting?(query: WaitingQuery, call?: CallOptions): Promise<readonly WaitingQueue[]>

  /** Live leases ordered by resource; `next`, where present, is the `after` of the following page. */
  list(query: ListQuery, call?: CallOptions): Promise<LeasePage>

  /**
   * Rejects if leases cannot be acquired now, such as for lack of rights, tables of a newer version or a file that
   * was deleted. Changes no lease. Absent: a `read` tells enough.
   */
  check?(call?: CallOptions): Promise<void>

  /** Marks expired leases and returns each to at most one caller, ever. Also deletes rows that nobody needs. */
  sweep(query: { readonly limit: number }, call?: CallOptions): Promise<readonly LeaseRecord[]>

  /**
   * Reports every change from the moment the promise resolves. A hint, not a log: after `gap` something may have
   * been missed, and the listener reads again what it needs.
   */
  watch(on: (event: StoreEvent) => void, query?: { readonly prefix?: string }): Promise<AsyncDisposable>
}

/** What `createLeases` accepts: with only the holding half, a manager cannot inspect or list. */
export type ManagedStore = HoldingStore & Partial<LookingStore>

export interface StoreSupport {
  /** The store keeps the queue of waiters, first in, first out, across processes. `waiting` shows it. */
  readonly queue: boolean
  /** `watch` and `wake` are pushed. Otherwise waiters retry with backoff. */
  readonly push: boolean
  /** Leases expire by TTL. */
  readonly expiry: boolean
  /** `list` works. */
  readonly list: boolean
}

export interface WaitingQuery {
  readonly resources: readonly string[]
  /** How many of each queue are described. 0: they are only counted. */
  readonly limit: number
}

/** The queue of one resource. */
export interface WaitingQueue {
  readonly count: number
  /** First in line first. */
  readonly first: readonly WaitingRecord[]
}

/** A waiter of a resource. */
export interface WaitingRecord {
  readonly id: string
  readonly owner: string
  /** How many are ahead. */
  readonly place: number
}

export interface StoreLoad {
  /** Acquire requests that were sent and not answered. */
  readonly inFlight: number
  /** Acquire requests that wait in this process, because as many as allowed are in flight. */
  readonly queued: number
  /** The mean duration of the latest calls of any kind, in milliseconds; `null` before the first one. */
  readonly callTime: number | null
}

export interface CallOptions {
  /**
   * Aborts when the caller has stopped waiting. The store may then reject with `aborted`. The signal may be created
   * when it is first read, so pass the options on instead of copying them.
   */
  readonly signal?: AbortSignal
  /** How long the caller waits for the answer, in milliseconds. Default 5 s. */
  readonly timeout?: number | undefined
  /** For renewals and releases: as `queued` of `Ask`. The time that they wait in this process is not limited. */
  readonly queued?: (isQueued: boolean) => void
}

export interface Ask {
  readonly resource: string
  readonly id: string
  readonly owner: string
  /** Milliseconds. */
  readonly ttl: number
  readonly metadata?: JsonObject | undefined
  /** If set: join the queue, and call back when the request should be repeated, in so many milliseconds. */
  readonly wake?: (inMs: number) => void
  /**
   * Called with `true` if the request waits in this process, because too many others are in flight, and with `false`
   * just before it is sent. Not called if it is sent at once.
   */
  readonly queued?: (isQueued: boolean) => void
  /** Called once if the store learns that another caller ended the lease it granted to this request. */
  readonly lost?: () => void
  /**
   * The holder is this process: a store that can prove that the process has ended frees the lease at once. Absent:
   * the lease lives until its TTL ends, whatever becomes of this process.
   */
  readonly endsWithProcess?: boolean
  /** Takes the lease over, but only from the holder with this token. */
  readonly replace?: number
}

export type Answer = Grant | Refusal

export interface Grant {
  readonly granted: true
  readonly lease: LeaseRecord
  /** The lease that this grant ended: it had expired, or was taken over. */
  readonly replaced?: LeaseRecord
}

export interface Refusal {
  readonly granted: false
  /** `null`: free, but reserved for the first waiter. */
  readonly holder: LeaseRecord | null
  /** How many waiters are ahead; `null`: not in the queue. */
  readonly place: number | null
  /** When to repeat the request if no push comes, in milliseconds; `null`: the store cannot tell. */
  readonly retryIn: number | null
}

export interface RenewAsk {
  readonly resource: string
  readonly id: string
  /** Milliseconds. */
  readonly ttl: number
  /** Whether the lease ends with this process from now on, as in `Ask`. Absent: as it is. */
  readonly endsWithProcess?: boolean
}

export type Renewal =
  | { readonly ok: true; readonly lease: LeaseRecord }
  | { readonly ok: false; readonly holder: LeaseRecord | null }

export type ReleaseAsk = { readonly resource: string } & (
  | { readonly id: string }
  | { readonly token: number }
)

export interface Released {
  readonly ended: LeaseRecord | null
  readonly holder: LeaseRecord | null
}

export interface ListQuery {
  readonly prefix?: string
  readonly limit: number
  /** Only resources that sort after this one. */
  readonly after?: string | undefined
}

export interface LeasePage {
  readonly leases: readonly LeaseRecord[]
  readonly next?: string
}

export type StoreEvent = { readonly type: 'change'; readonly lease: LeaseRecord } | { readonly type: 'gap' }
