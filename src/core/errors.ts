import type { LeaseRecord } from './lease.ts'

export type LeaseErrorCode =
  /** A bad option or argument; the message names it, what was expected and what came. */
  | 'invalid-argument'
  /** Another holds the resource, and the wait is over. `holder` says who. */
  | 'lease-held'
  /** The lease ended before it was released. */
  | 'lease-lost'
  /** A guard refused a write: a newer lease has written, or another lease has the same token. */
  | 'stale-token'
  /** The caller's `signal` aborted; its reason is the `cause`. */
  | 'aborted'
  /** The manager or the store was closed. */
  | 'closed'
  /** What the call is about does not exist, such as the job of a run. */
  | 'not-found'
  /** The backend did not answer, or not in time. */
  | 'store-unavailable'
  /** The backend refused in a way that asking again cannot mend. */
  | 'store-failed'

export interface LeaseErrorDetails {
  readonly cause?: unknown
  readonly resource?: string | undefined
  readonly holder?: LeaseRecord | null | undefined
}

/** The one error class of Holdfast. Decide by `code`; `retryable` says whether the same call may succeed later. */
export class LeaseError extends Error {
  override readonly name = 'LeaseError'
  readonly code: LeaseErrorCode
  /** Whether the same call may succeed later. */
  readonly retryable: boolean
  declare readonly resource?: string | undefined
  /** With `lease-held`: who has it, as far as the store told. */
  declare readonly holder?: LeaseRecord

  constructor(code: LeaseErrorCode, message: string, details: LeaseErrorDetails = {}) {
    super(message, details)
    this.code = code
    this.retryable = code === 'lease-held' || code === 'store-unavailable'
    if (details.resource) this.resource = details.resource
    if (details.holder) this.holder = details.holder
  }
}

/** Passes a `LeaseError` on and wraps anything else that a store threw. */
export function asLeaseError(error: unknown, resource?: string): LeaseError {
  if (error instanceof LeaseError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new LeaseError('store-failed', message, {
    cause: error,
    resource,
  })
}
