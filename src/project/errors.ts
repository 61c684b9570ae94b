export type LockErrorCode =
  /** Neither Web Locks nor a directory to write in. */
  | 'web-lock-unsupported'
  /** One attempt's time was over; seen as a `cause`. */
  | 'lock-timeout'
  /** Every attempt failed. `cause` says which backend refused. */
  | 'lock-unavailable'
  /** The lease ended because it could not be renewed. */
  | 'lock-renewal-failed'
  /** The `.lock` could not be deleted; it ends with its TTL. */
  | 'lock-release-failed'

/** Decide by `code`; `retryable` says whether it is worth asking for the lock again. */
export class LockError extends Error {
  override readonly name = 'LockError'
  readonly code: LockErrorCode
  readonly retryable: boolean

  /** `fallback-conflict`: one attempt found the `.lock` of another. It is never thrown, only seen as a `cause`. */
  constructor(
    code: LockErrorCode | 'fallback-conflict',
    message: string,
    retryable: boolean,
    cause?: unknown,
  ) {
    super(message, { cause })
    this.code = code as LockErrorCode
    this.retryable = retryable
  }
}

export function notHeld(): LockError {
  return new LockError('lock-renewal-failed', 'the lock is not held', true)
}
