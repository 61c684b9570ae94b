import type { LeaseError } from '../base/errors.ts'
import type { JsonObject, LeaseRecord } from '../base/records.ts'

/**
 * The port under every lease, in two halves: holding, and looking at what others hold. A store judges time by its
 * own clock only, makes each call atomic, and rejects with a `LeaseError`: `store-unavailable` (retryable) when the
 * backend did not answer, `store-failed` when a retry cannot help, `closed` after `close()`.
 *
 * A call under way keeps the process alive, so that `await acquire` is not cut short by its end. Nothing else does:
 * timers, listening connections and watches are unreferenced once no call is under way.
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
   * Grants the resource if the request fits beside the leases that are live, or says who holds it.
   *
   * - A request fits if, with it, there are no more live and reserved leases than each of them allows by its `share`.
   *   Without `share`, a lease allows only itself.
   * - Atomic: whatever the number of callers, the leases that are live together fit.
   * - First in, first out: while others wait, a request is granted only if the resource is reserved for it.
   * - A repeated request with the id of a live lease is granted again: expiry extended, and token, owner, metadata and
   *   share as they are. After its lease has ended, the id gets a new lease with a higher token.
   * - The token of a grant is higher than every earlier token of the resource, whatever the clock does.
   * - A grant that follows an expired lease returns that lease as `replaced`, unless a sweep returned it.
   */
  acquire(ask: Ask, call?: CallOptions): Promise<Answer>

  /**
   * Grants all of these requests, in their order, or none of them: `null`. They are for different resources, and each is
   * decided as by `acquire` without `wake` and `replace`, but none is granted while others wait for its resource. Takes
   * one round trip. A store that is busy may answer `null`:
   * the caller then asks for one after the other. Absent: it always does.
   */
  acquireAll?(asks: readonly Ask[], call?: CallOptions): Promise<readonly Grant[] | null>

  /** Extends a live lease to `max(its expiry, now + ttl)`. Never creates one, and never revives an expired one. */
  renew(ask: RenewAsk, call?: CallOptions): Promise<Renewal>

  /**
   * Releases whatever the id has: the lease, a reservation or a place in the queue. With a `token` instead of the
   * id, the lease with that token is ended by force, and keeps the resource no longer, whatever its `atLeast`.
   * `ended` is the lease that this call ended: `released`, or `expired` if it was too late and nobody had noticed. Of a
   * lease that had ended before and kept the resource, a forced release ends the keeping: `released` too.
   */
  release(ask: ReleaseAsk, call?: CallOptions): Promise<Released>

  /**
   * The error of a call that got no answer, with what the client has said about its connection: the message names its
   * last error, and the `cause` is that error. Without such trouble, the error as it is.
   */
  explain?(error: LeaseError): LeaseError

  /**
   * Closes what the store itself opened, never the client that it was given. Leases that expire stay as they are;
   * others end. Watchers hear nothing more. Calls that are under way, and all later ones, reject with `closed`, with
   * one exception: releases that are under way are carried out. What an acquire request is granted after its caller
   * was rejected is released. `close` ends after that, or after as long as a call may take. Another `close` does
   * nothing.
   */
  close(): Promise<void>
}

/** For code that shows leases or cleans up. */
export interface LookingStore {
  /**
   * The leases of these resources that are live (`held`), and those that have ended and keep the resource (`kept`), in
   * the same order; those of one resource by their tokens.
   */
  read(resources: readonly string[], call?: CallOptions): Promise<readonly (readonly LeaseRecord[])[]>

  /**
   * The waiters of these resources, in the same order. A waiter that the store knows to be dead is left out. Absent if
   * the store keeps no queue: see `supports.queue`.
   */
  waiting?(query: WaitingQuery, call?: CallOptions): Promise<readonly WaitingQueue[]>

  /**
   * The same leases as `read`, of all resources, in the order of their resources, as bytes of UTF-8, and of their tokens. `next`, where present, is the
   * `after` of the following page.
   */
  list(query: ListQuery, call?: CallOptions): Promise<LeasePage>

  /**
   * Rejects if leases cannot be acquired now, such as for lack of rights, tables of a newer version, a full disk or a
   * file that was deleted. It may write something, but changes no lease. Absent: a `read` tells enough.
   */
  check?(call?: CallOptions): Promise<void>

  /** Marks expired leases and returns each to at most one caller, ever. Also deletes rows that nobody needs. */
  sweep(query: { readonly limit: number }, call?: CallOptions): Promise<readonly LeaseRecord[]>

  /**
   * Reports every change from the moment the promise resolves: grants, renewals and ends, those of one resource in
   * their order, so that the end of a lease comes before the grant that follows it. A hint, not a log: after `gap`,
   * which every watcher hears, something may have been missed, and the listener reads again what it needs. A lease
   * that expires is reported when a call notices it. If a lease keeps the resource after its end, a record of state
   * `kept` follows. Another end of the same lease means that it was freed by force or by a steal. That its time is over
   * need not be reported.
   */
  watch(on: (event: StoreEvent) => void, query?: { readonly prefix?: string }): Promise<AsyncDisposable>
}

/** What `createLeases` accepts: with only the holding half, a manager cannot inspect or list. */
export type ManagedStore = HoldingStore & Partial<LookingStore>

export interface StoreSupport {
  /**
   * The store keeps the queue of waiters, first in, first out, across processes. `waiting` shows it.
   *
   * When a resource becomes free, it is reserved for the first waiters, as many as fit together, for one second each,
   * and `wake(0)` tells them to repeat their requests. The first waiter without a reservation is told when the
   * reservations end. A waiter that does not ask within its second loses its place, and with it all waiters of the same
   * process, which is probably dead: they are told to ask again, and join at the end.
   */
  readonly queue: boolean
  /** `watch` and `wake` are pushed. Otherwise waiters retry with backoff. */
  readonly push: boolean
  /** Leases expire by TTL. */
  readonly expiry: boolean
  /** `list` works. */
  readonly list: boolean
  /** `share`, `atLeast`, `lockDelay` and `replace: 'any'` work. Otherwise such requests are refused by name. */
  readonly share: boolean
}

export interface WaitingQuery {
  readonly resources: readonly string[]
  /** How many of each queue are described. 0: they are only counted. */
  readonly limit: number
}

/** The queue of one resource. */
export interface WaitingQueue {
  readonly count: number
  /** In the order of the queue. */
  readonly first: readonly WaitingRecord[]
}

/** A waiter of a resource. */
export interface WaitingRecord {
  readonly id: string
  readonly owner: string
  /** As in `Ask`; `null`: it waits for an exclusive lease. */
  readonly share: number | null
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
   * Aborts when the caller has stopped waiting. The store may then reject with `aborted`. The request may have been
   * carried out all the same, so a caller that gives up releases its id. The signal may be created when it is first
   * read, so pass the options on instead of copying them.
   */
  readonly signal?: AbortSignal | undefined
  /** How long the caller waits for the answer, in milliseconds. Default 5 s. */
  readonly timeout?: number | undefined
  /**
   * A store that itself rejects the call after `timeout` sets this to `true` before it returns. The caller then needs no
   * timer of its own. Code that wraps a store and may keep back an answer gives the store a copy of the options.
   */
  limited?: boolean | undefined
  /** For renewals and releases: as `queued` of `Ask`. The time that they wait in this process is not limited. */
  readonly queued?: ((isQueued: boolean) => void) | undefined
}

export interface Ask {
  readonly resource: string
  readonly id: string
  readonly owner: string
  /** Milliseconds. */
  readonly ttl: number
  readonly metadata?: JsonObject | undefined
  /**
   * If set: join the queue, and call back with the number of milliseconds after which the request should be repeated. Passed with
   * every repetition by a caller that waits, if the store keeps a queue. A repetition without it keeps its place.
   */
  readonly wake?: (inMs: number) => void
  /**
   * Called with `true` if the request waits in this process, because too many others are in flight, and with `false`
   * just before it is sent. Not called if it is sent at once.
   */
  readonly queued?: (isQueued: boolean) => void
  /**
   * Called once if the store learns that another caller ended the lease it granted to this request: by force, by a
   * takeover or by a steal. Not after the release of this id, nor after its expiry; then it may be forgotten.
   */
  readonly lost?: () => void
  /**
   * The holder is this process: a store that can prove that the process has ended frees the lease at once. Absent:
   * the lease lives until its TTL ends, whatever becomes of this process.
   */
  readonly endsWithProcess?: boolean
  /** How many leases of the resource may be live together: from 1, or `Infinity`. Absent: only this one. */
  readonly share?: number | undefined
  /** How many milliseconds after the grant the resource stays taken, even if the lease ends earlier. */
  readonly atLeast?: number | undefined
  /** How many milliseconds the resource stays taken after the lease has expired. Not after a release. */
  readonly lockDelay?: number | undefined
  /**
   * A token takes the lease over, but only from that lease, and only if no other is live. `any` ends every lease and
   * reservation of the resource, and passes all waiters. On a free resource, `replace` has no effect.
   */
  readonly replace?: number | 'any' | undefined
}

export type Answer = Grant | Refusal

export interface Grant {
  readonly granted: true
  readonly lease: LeaseRecord
  /** The lease that this grant ended: it had expired, or was taken over. Of several, the newest; watchers hear of all. */
  readonly replaced?: LeaseRecord
}

export interface Refusal {
  readonly granted: false
  /** The live leases, oldest first. Empty: reserved for waiters, or kept by a lease that has ended. */
  readonly holders: readonly LeaseRecord[]
  /** For how many milliseconds a lease that has ended still keeps the resource, by `atLeast` or `lockDelay`. */
  readonly keptFor?: number
  /** How many waiters are ahead; `null`: not in the queue. */
  readonly place: number | null
  /** When to repeat the request if no push comes, in milliseconds; `null`: the store cannot tell. */
  readonly retryIn: number | null
  /** Why the store cannot wake its waiters, which ask again by a timer. It says so once, until it can. */
  readonly polls?: LeaseError
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
  | { readonly ok: false; readonly holders: readonly LeaseRecord[] }

export type ReleaseAsk = { readonly resource: string } & (
  | { readonly id: string }
  | { readonly token: number }
)

export interface Released {
  readonly ended: LeaseRecord | null
  /** If nothing was ended: the live leases, oldest first. Otherwise it may be empty. */
  readonly holders: readonly LeaseRecord[]
}

export interface ListQuery {
  readonly prefix?: string | undefined
  readonly limit: number
  /** The `next` of the page before, or a resource: only leases that sort after it. */
  readonly after?: string | undefined
}

export interface LeasePage {
  readonly leases: readonly LeaseRecord[]
  /** The `after` of the next page. Absent: there are no more leases. */
  readonly next?: string
}

export type StoreEvent = { readonly type: 'change'; readonly lease: LeaseRecord } | { readonly type: 'gap' }
