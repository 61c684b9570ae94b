import type { LeaseRecord } from './records.ts'

export type LeaseErrorCode =
  /** An option or argument is wrong. The message names it, the expected value and the received value. */
  | 'invalid-argument'
  /**
   * Another caller holds the resource, and the wait is over. `holder` says who; of several, the oldest, and `holders`
   * has all. `holder` is missing while the resource is reserved for the next waiter. It is also missing while a lease
   * that has ended keeps the resource: `keptFor` says for how many milliseconds.
   */
  | 'lease-held'
  /**
   * The lease ended before it was released. `cause` is the last renewal that failed, or what `work` threw. `reason` is
   * that of the event `lost`. The message says more: the last error of the client's connection, or that this process
   * was busy or stopped.
   */
  | 'lease-lost'
  /** A guard, or a save of a document, was refused: a newer lease exists, or another lease has the same token. */
  | 'stale-token'
  /** A save of a document was refused: a newer save of the same lock, by another page with the same id, is stored. */
  | 'stale-save'
  /** Your `signal` aborted. `cause` is its reason. */
  | 'aborted'
  /** The manager or the store was closed. Also the reason of a lease's `signal` then. */
  | 'closed'
  /** `once.result`: the job was started with another payload. Use another id for another request. */
  | 'payload-mismatch'
  /** `once.result`: the job has failed, and its failure is kept. */
  | 'job-failed'
  /** The subject of the call does not exist, such as a job or an entity. */
  | 'not-found'
  /** The job did not finish within the `wait` of `once.wait` or `once.result`. */
  | 'not-finished'
  /**
   * The backend did not answer, or not in time. `cause` is the last connection error of the client, such as
   * `ECONNREFUSED`, and the message names it. It also says if the client has never connected.
   */
  | 'store-unavailable'
  /** The answer to a COMMIT of a guard was lost: the transaction may be stored or not. Read before you write again. */
  | 'outcome-unknown'
  /** The server limits the rate of requests. `cause.retryAfterMs` says when to come back. */
  | 'too-many-requests'
  /** The server lets no more requests wait for this resource, or from this address. */
  | 'too-many-waiters'
  /** What should be saved is longer than the server allows. `cause.limit` is the limit in bytes. */
  | 'too-large'
  /** The backend refused, and a retry cannot help. */
  | 'store-failed'
  /**
   * The stored data has another format than this context expects, such as another layout, number of shards or schema
   * version.
   */
  | 'other-format'
  | LockErrorCode
  | AutoSaveErrorCode
  /** One attempt found the `.lock` of another tab. Appears only as a `cause`. */
  | 'fallback-conflict'

/** Codes of `LockError`, the errors of the project lock. */
export type LockErrorCode =
  /** The browser offers neither Web Locks nor a directory. */
  | 'web-lock-unsupported'
  /** One attempt reached its limit of 10 s. Appears only as a `cause`. */
  | 'lock-timeout'
  /**
   * Every attempt failed, or the directory may not be written. `cause` has the code `lock-timeout` (Web Lock) or
   * `fallback-conflict` (file).
   */
  | 'lock-unavailable'
  /** The lease ended because it could not be renewed. */
  | 'lock-renewal-failed'
  /** The `.lock` could not be deleted. It expires with its TTL. Appears only in an event. */
  | 'lock-release-failed'

/** Codes of `AutoSaveError`. */
export type AutoSaveErrorCode =
  /** The lock could not be acquired, or was lost during a save. */
  | 'lock-unavailable'
  /** Another tab has left a newer version. Load it, or save yours over it. */
  | 'conflict'
  /** The directory could not be written. */
  | 'write-failed'
  /** The disk is full, even without the old saves. */
  | 'quota-exceeded'
  /** The user or the browser does not allow access to the directory. */
  | 'not-allowed'
  /** `read` threw, or returned a value that JSON cannot represent. */
  | 'read-failed'
  /** The directory could not be read. */
  | 'load-failed'
  /** A file does not contain what was saved. */
  | 'corrupt'
  /** The journal could not be read, or had no space. */
  | 'journal-failed'
  /** A newer version of Holdfast has saved here. Nothing is replaced or removed: update the page. */
  | 'other-format'

/** Why a lease was lost. */
export type LossReason =
  /** The store refused the renewal. */
  | 'refused'
  /** The deadline passed without a successful renewal. */
  | 'deadline'
  /** Another caller took it over, or it was released by force. */
  | 'ended'
  /** The `retry` option gave up on renewing. */
  | 'gave-up'

export interface LeaseErrorDetails {
  readonly cause?: unknown
  readonly resource?: string | undefined
  /** The live leases, oldest first. */
  readonly holders?: readonly LeaseRecord[] | undefined
  /** Why the lease was lost. */
  readonly reason?: LossReason | undefined
}

/** Every error of Holdfast is one of these, or of a subclass. Decide by `code`; `retryable` says whether the same call may succeed later. */
export class LeaseError extends Error {
  override readonly name: string = 'LeaseError'
  declare readonly code: LeaseErrorCode
  /** Whether the same call may succeed later. */
  declare readonly retryable: boolean
  declare readonly resource?: string | undefined
  /** With `lease-held`: who has it, as far as the store said. Of several, the oldest. */
  declare readonly holder?: LeaseRecord
  /** With `lease-held`: all who have it, oldest first, as far as the store said. */
  declare readonly holders?: readonly LeaseRecord[]
  /** With `lease-held`: how long a lease that has ended still keeps the resource, in milliseconds. */
  declare readonly keptFor?: number
  /** With `lease-lost`: why a lease was lost that its manager kept. */
  declare readonly reason?: LossReason

  /**
   * Whether it is a `LeaseError` with this code; without a code, whether it is any. The compiler knows the code then.
   *
   * @example
   * if (LeaseError.is(error, 'lease-held')) console.log(`${error.holder?.owner} has it`)
   */
  static is(error: unknown): error is LeaseError
  static is<Code extends LeaseErrorCode>(error: unknown, code: Code): error is LeaseErrorOf<Code>
  static is(error: unknown, code?: LeaseErrorCode): boolean {
    return error instanceof LeaseError && (!code || error.code === code)
  }

  constructor(code: LeaseErrorCode, message: string, details: LeaseErrorDetails = {}) {
    super(message, details)
    this.code = code
    // lease-held, store-unavailable, too-many-…, not-finished.
    this.retryable = /held|store-u|many|not-fin/.test(code)
    if (details.resource) this.resource = details.resource
    if (details.reason) this.reason = details.reason
    const [holder] = details.holders ?? []
    if (!holder) return
    this.holders = details.holders as readonly LeaseRecord[]
    this.holder = holder
  }
}

/** A `LeaseError` whose code is known. Only `lease-held` has holders, and only `lease-lost` a reason. */
export type LeaseErrorOf<Code extends LeaseErrorCode> = LeaseError & {
  readonly code: Code
} & (Code extends 'lease-held'
    ? unknown
    : { readonly holder?: never; readonly holders?: never; readonly keptFor?: never }) &
  (Code extends 'lease-lost' ? unknown : { readonly reason?: never })

/** Returns a `LeaseError` as it is, and wraps anything else that a store threw. */
export function asLeaseError(error: unknown, resource?: string): LeaseError {
  if (error instanceof LeaseError) return error
  return new LeaseError('store-failed', messageOf(error), { cause: error, resource })
}

/** Whether whatever was thrown says that the same call may succeed later. Works for errors of any class. */
export function isRetryable(error: unknown): boolean {
  return (Object(error) as { readonly retryable?: unknown }).retryable === true
}

/** The message of whatever was thrown. Never throws itself. */
export function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  const {
    message,
    errors,
    constructor: kind,
  } = Object(error) as {
    readonly message?: unknown
    readonly errors?: unknown
    readonly constructor?: { readonly name?: unknown }
  }
  if (typeof message !== 'string') return `${typeof error} was thrown, not an Error`
  // Node tried several addresses of a host: the first error says what the list does not.
  const [first] = Array.isArray(errors) ? errors : []
  return message || String(first ? messageOf(first) : kind?.name)
}
