import type { Duration } from '../base/duration.ts'
import type { LeaseError, LossReason } from '../base/errors.ts'
import type { JsonObject, LeaseRecord } from '../base/records.ts'
import type { LeaseTicket } from './ticket.ts'

/**
 * The right to a resource, kept alive by a heartbeat until it is released or lost.
 *
 * @example
 * await using lease = await leases.acquire('invoice:42')
 * await save(invoice, { token: lease.token, signal: lease.signal })
 */
export interface Lease extends AsyncDisposable {
  readonly resource: string
  readonly id: string
  readonly owner: string
  /** Higher than that of every earlier lease of the resource. Write it with your data, and reject lower ones. */
  readonly token: number
  readonly metadata: JsonObject | null
  /** How many may hold the resource together; `null`: only this lease. */
  readonly share: number | null
  readonly acquiredAt: number
  /** By the store's clock; moves with every renewal. To decide anything, read `held`. */
  readonly expiresAt: number | null
  /** Aborts with a `LeaseError` of code `lease-lost` when the lease can no longer be trusted. */
  readonly signal: AbortSignal
  /**
   * Calls the listener when `signal` aborts, at once if it has aborted. What it throws affects nobody else. Returns a
   * function that ends this.
   *
   * @example
   * lease.onLost((error) => console.error(error.message))
   */
  onLost(listener: (error: LeaseError) => void): () => void
  /** False from the lease's own deadline on, and after a release or loss. Computed on every read. */
  readonly held: boolean
  /**
   * Renews now, in addition to the heartbeat. With `ttl` the lease lives at least that long from now on, once: later
   * heartbeats have the TTL of the lease again, and never shorten it. Rejects with `lease-lost` if the store refuses.
   *
   * @throws `lease-lost`
   */
  renew(options?: { readonly ttl?: Duration | undefined }): Promise<void>
  /**
   * Hands the lease over to another process: renews it, stops the heartbeat, and returns a ticket as plain JSON for
   * `leases.adopt`. This handle then holds nothing, and its release has no effect. Until somebody adopts the lease it
   * lives for its TTL, also if this process ends.
   *
   * @throws `lease-lost`
   *
   * @example
   * worker.send(await lease.detach())
   */
  detach(): Promise<LeaseTicket>
  /** Ends the lease. Rejects only if the store could not be reached; the lease then ends with its TTL. */
  release(): Promise<void>
}

/** What every event of a manager has. */
export interface LeaseEventBase {
  /** The manager's wall clock, milliseconds. */
  readonly at: number
  readonly resource: string
  readonly leaseId: string
  readonly owner: string
  /** Of the lease; `undefined` before it is granted. */
  readonly token?: number | undefined
}

/** Every event of a manager, in order. */
export type LeaseEvent = LeaseEventBase &
  (
    | { readonly type: 'attempt'; readonly attempt: number }
    | {
        readonly type: 'waiting'
        /**
         * `held`: another caller holds the lease. `store-busy`: the request was not sent yet, because the store has as
         * many in flight as it may.
         */
        readonly reason: 'held' | 'store-busy'
        /** Of several, the oldest. */
        readonly holder: LeaseRecord | null
        /** Oldest first. */
        readonly holders: readonly LeaseRecord[]
        readonly place: number | null
        /** Nobody holds it, but a lease that has ended keeps it (`atLeast`, `lockDelay`): for how many milliseconds. */
        readonly keptFor?: number | undefined
      }
    | {
        readonly type: 'acquired'
        readonly token: number
        readonly expiresAt: number | null
        readonly attempts: number
        /** Milliseconds from the call to the grant. */
        readonly waited: number
      }
    | {
        readonly type: 'renewed'
        readonly token: number
        readonly expiresAt: number | null
        /** Milliseconds that the lease had left when the answer came; `null` if it has no deadline. */
        readonly remaining: number | null
      }
    | { readonly type: 'released'; readonly token: number; readonly heldFor: number }
    | {
        readonly type: 'lost'
        readonly token: number
        readonly reason: LossReason
        readonly error: LeaseError
        readonly heldFor: number
      }
    /** Our grant replaced an expired lease. */
    | { readonly type: 'expired'; readonly lease: LeaseRecord }
    /** A third of the TTL is left without a renewal. */
    | {
        readonly type: 'warning'
        readonly code: 'lease-in-danger'
        readonly token: number
        /** Milliseconds until the lease is lost. */
        readonly remaining: number
      }
    | {
        readonly type: 'error'
        readonly operation: 'acquire' | 'renew' | 'release' | 'watch'
        readonly error: LeaseError
      }
  )

export type LeaseListener = (event: LeaseEvent) => void
