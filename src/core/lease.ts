import type { LeaseError } from './errors.ts'

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** What a store knows of a lease. Times are milliseconds of the store's clock. */
export interface LeaseRecord {
  readonly resource: string
  /** Names this one lease; whoever knows it may renew and release. */
  readonly id: string
  readonly owner: string
  /** Grows with every grant of the resource, for ever. */
  readonly token: number
  readonly metadata: JsonObject | null
  readonly acquiredAt: number
  /** `null`: never, because the backend itself ends the lease (Web Locks). */
  readonly expiresAt: number | null
  /** Milliseconds left when the store looked: the only time that may be compared with another clock. */
  readonly remaining: number | null
  readonly state: 'held' | 'released' | 'expired' | 'taken-over'
}

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
  /** Higher than that of every earlier lease of the resource: write it with your data, and refuse lower ones. */
  readonly token: number
  readonly metadata: JsonObject | null
  readonly acquiredAt: number
  /** By the store's clock; moves with every renewal. To decide anything, ask `held`. */
  readonly expiresAt: number | null
  /** Aborts with a `LeaseError` of code `lease-lost` when the lease can no longer be trusted. */
  readonly signal: AbortSignal
  /** False from the lease's own deadline on, or once it was released or lost. Computed on every read. */
  readonly held: boolean
  /** Renews now, beside the heartbeat. Rejects with `lease-lost` when the store refuses. */
  renew(): Promise<void>
  /** Ends the lease. Rejects only when the store could not be told; the lease then ends with its TTL. */
  release(): Promise<void>
}

/** Why a lease was lost. */
export type LossReason =
  /** The store answered that it belongs to us no more. */
  | 'refused'
  /** The deadline passed without a renewal that succeeded. */
  | 'deadline'
  /** The store told us that another took it over, or that it was ended by force. */
  | 'ended'
  /** The `retry` option gave up on renewing. */
  | 'gave-up'

interface EventBase {
  /** The manager's wall clock, milliseconds. */
  readonly at: number
  readonly resource: string
  readonly leaseId: string
  readonly owner: string
  /** Of the lease; `undefined` before it is granted. */
  readonly token?: number | undefined
}

/** Everything that a manager tells its listeners, in order. */
export type LeaseEvent = EventBase &
  (
    | { readonly type: 'attempt'; readonly attempt: number }
    | { readonly type: 'waiting'; readonly holder: LeaseRecord | null; readonly place: number | null }
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
        /** Milliseconds that were left to the lease when the answer came; `null` when it has no deadline. */
        readonly left: number | null
      }
    | { readonly type: 'released'; readonly token: number; readonly heldFor: number }
    | {
        readonly type: 'lost'
        readonly token: number
        readonly reason: LossReason
        readonly error: LeaseError
        readonly heldFor: number
      }
    /** Our grant replaced the lease of a holder that had let it run out. */
    | { readonly type: 'expired'; readonly lease: LeaseRecord }
    /** A third of the TTL is left and no renewal has succeeded. */
    | {
        readonly type: 'warning'
        readonly code: 'lease-in-danger'
        readonly token: number
        readonly left: number
      }
    | {
        readonly type: 'error'
        readonly operation: 'acquire' | 'renew' | 'release' | 'watch'
        readonly error: LeaseError
      }
  )

export type LeaseListener = (event: LeaseEvent) => void
