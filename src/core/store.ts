import type { JsonObject, LeaseRecord } from './lease.ts'

/**
 * The port under every lease. A store judges time by its own clock only, makes each call atomic, and
 * rejects with a `LeaseError`: `store-unavailable` (retryable) when the backend did not answer,
 * `store-failed` when asking again cannot help, `closed` after `close()`.
 */
export interface LeaseStore {
  /** Short name for messages and metrics, such as `memory` or `sqlite`. */
  readonly kind: string
  readonly supports: StoreSupport

  /**
   * Grants the resource if it is free, or says who has it.
   *
   * - Atomic: of any number of askers at most one is granted, and no lease of the resource is live then.
   * - Asking again with the id of the live holder is granted again: same token, expiry extended.
   * - The token of a grant is higher than every earlier token of the resource, whatever the clock does.
   * - A grant that follows an expired lease hands that one back as `replaced`, unless a sweep did.
   */
  acquire(ask: Ask, call?: CallOptions): Promise<Answer>

  /** Extends a live lease to `max(its expiry, now + ttl)`. Never creates one, never revives an expired one. */
  renew(
    ask: { readonly resource: string; readonly id: string; readonly ttl: number },
    call?: CallOptions,
  ): Promise<Renewal>

  /**
   * Gives up what the id has: the lease, a reservation or a place in line. With a `token` in place of the
   * id the lease with that token is ended by force. `ended` is the lease that this call ended.
   */
  release(
    ask: { readonly resource: string } & ({ readonly id: string } | { readonly token: number }),
    call?: CallOptions,
  ): Promise<{ readonly ended: LeaseRecord | null; readonly holder: LeaseRecord | null }>

  /** The live leases of these resources, in the same order; `null` where there is none. */
  read(resources: readonly string[], call?: CallOptions): Promise<readonly (LeaseRecord | null)[]>

  /** Live leases ordered by resource; `next`, where present, is the `after` of the following page. */
  list(query: ListQuery, call?: CallOptions): Promise<LeasePage>

  /** Marks leases that ran out and hands each to at most one caller, ever. Also drops what nobody needs. */
  sweep(query: { readonly limit: number }, call?: CallOptions): Promise<readonly LeaseRecord[]>

  /**
   * Tells of every change from the moment the promise resolves. A hint, not a log: after `gap` something
   * may have been missed, and the listener reads again what it cares about.
   */
  watch(on: (event: StoreEvent) => void, query?: { readonly prefix?: string }): Promise<AsyncDisposable>

  /** Frees what the store itself opened, never the client that it was given. Leases stay as they are. */
  close(): Promise<void>
}

export interface StoreSupport {
  /** Keeps the line of waiters itself, first in, first out, across processes. */
  readonly queue: boolean
  /** `watch` and `wake` are pushed; otherwise waiters ask again by backoff. */
  readonly push: boolean
  /** Leases run out by TTL. */
  readonly expiry: boolean
  /** `list` works. */
  readonly list: boolean
}

export interface CallOptions {
  /**
   * The caller waits no longer, and the outcome is then unknown to it. A store that is still busy with the call
   * may reject with `aborted`. Made when it is first read, so pass the options on instead of copying them.
   */
  readonly signal?: AbortSignal
}

export interface Ask {
  readonly resource: string
  readonly id: string
  readonly owner: string
  /** Milliseconds. */
  readonly ttl: number
  readonly metadata?: JsonObject | undefined
  /** Present: stand in line, and be called when it is worth asking again, in so many milliseconds. */
  readonly wake?: (inMs: number) => void
  /** Called once if the store learns that the lease it granted to this ask was ended by another. */
  readonly lost?: () => void
  /** Take the lease over, but only from the holder with this token. */
  readonly replace?: number
}

export type Answer = Grant | Refusal

export interface Grant {
  readonly granted: true
  readonly lease: LeaseRecord
  /** The lease that this grant ended: one that had expired, or that was taken over. */
  readonly replaced?: LeaseRecord
}

export interface Refusal {
  readonly granted: false
  /** `null`: free, but reserved for the first in line. */
  readonly holder: LeaseRecord | null
  /** How many stand before the asker; `null` when it does not stand in line. */
  readonly place: number | null
  /** When to ask again if no push comes, in milliseconds; `null`: the store cannot tell. */
  readonly retryIn: number | null
}

export type Renewal =
  | { readonly ok: true; readonly lease: LeaseRecord }
  | { readonly ok: false; readonly holder: LeaseRecord | null }

export interface ListQuery {
  readonly prefix?: string
  readonly limit: number
  /** Only resources that sort after this one. */
  readonly after?: string
}

export interface LeasePage {
  readonly leases: readonly LeaseRecord[]
  readonly next?: string
}

export type StoreEvent = { readonly type: 'change'; readonly lease: LeaseRecord } | { readonly type: 'gap' }
