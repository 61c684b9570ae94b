import { LeaseError } from '../base/errors.ts'

export type LockErrorCode =
  /** The browser offers neither Web Locks nor a directory. */
  | 'web-lock-unsupported'
  /** One attempt reached its time limit. Appears only as a `cause`. */
  | 'lock-timeout'
  /** Every attempt failed. `cause` says which backend refused. */
  | 'lock-unavailable'
  /** The lease ended because it could not be renewed. */
  | 'lock-renewal-failed'
  /** The `.lock` could not be deleted. It expires with its TTL. */
  | 'lock-release-failed'

/** Decide by `code`; `retryable` says whether another request for the lock may succeed. */
export class LockError extends LeaseError {
  override readonly name = 'LockError'
  declare readonly code: LockErrorCode
  override readonly retryable: boolean

  /** `fallback-conflict`: one attempt found the `.lock` of another tab. It is never thrown, only set as a `cause`. */
  constructor(
    code: LockErrorCode | 'fallback-conflict',
    message: string,
    retryable: boolean,
    cause?: unknown,
  ) {
    super(code, message, { cause })
    this.retryable = retryable
  }
}

export function notHeld(): LockError {
  return new LockError('lock-renewal-failed', 'the lock is not held', true)
}
