import { type AutoSaveErrorCode, LeaseError, messageOf } from '../base/errors.ts'
import type { ReadOnlyReason } from './types.ts'

const RETRYABLE: readonly AutoSaveErrorCode[] = ['write-failed', 'lock-unavailable', 'load-failed']

/** Decide by `code`; `retryable` says whether the same call may succeed later without any help. */
export class AutoSaveError extends LeaseError {
  override readonly name = 'AutoSaveError'
  declare readonly code: AutoSaveErrorCode
  override readonly retryable: boolean

  constructor(code: AutoSaveErrorCode, message: string, cause?: unknown) {
    super(code, message, cause === undefined ? {} : { cause })
    this.retryable = RETRYABLE.includes(code)
  }
}

/** Why the directory could not be written. */
export function asWriteError(error: unknown): AutoSaveError {
  if (error instanceof AutoSaveError) return error
  if (nameOf(error) === 'QuotaExceededError')
    return new AutoSaveError('quota-exceeded', 'there is no space left to save', error)
  if (isAccessError(error)) return new AutoSaveError('not-allowed', 'the directory may not be written', error)
  return new AutoSaveError('write-failed', 'the directory could not be written', error)
}

/** The result of reading the directory, or why it could not be read. */
export async function orLoadError<R>(reading: Promise<R>): Promise<R> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof AutoSaveError) throw error
    if (isAccessError(error)) throw new AutoSaveError('not-allowed', 'the directory may not be read', error)
    throw new AutoSaveError('load-failed', `the directory could not be read: ${messageOf(error)}`, error)
  }
}

/** Why the lock could not be acquired. */
export function asLockFailure(cause: unknown): {
  readonly reason: ReadOnlyReason
  readonly error: AutoSaveError
} {
  if (isDenied(cause)) {
    const error = new AutoSaveError('not-allowed', 'the lock file may not be written', cause)
    return { reason: 'denied', error }
  }
  const isUnsupported = (cause as { code?: unknown } | null)?.code === 'web-lock-unsupported'
  const error = new AutoSaveError('lock-unavailable', 'the project lock could not be acquired', cause)
  return { reason: isUnsupported ? 'unsupported' : 'held', error }
}

/** The project lock wraps the error of the browser as a `cause`. */
function isDenied(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.name === 'NotAllowedError' || isDenied(error.cause)
}

function isAccessError(error: unknown): boolean {
  return ['NotAllowedError', 'SecurityError'].includes(nameOf(error) ?? '')
}

function nameOf(error: unknown): string | undefined {
  return (error as Error | undefined)?.name
}
