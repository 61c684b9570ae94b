import { LeaseError, type LockErrorCode } from '../base/errors.ts'

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
