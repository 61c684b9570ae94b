import type { ReadOnlyReason } from './types.ts'

export type AutoSaveErrorCode =
  /** The lock could not be had, or was lost while a save was on its way. */
  | 'lock-unavailable'
  /** Another saved since this state was loaded. Load theirs, or save over it. */
  | 'conflict'
  /** The directory could not be written to. */
  | 'write-failed'
  /** The disk is full, though old generations were given up. */
  | 'quota-exceeded'
  /** The user or the browser refuses access to the directory. */
  | 'not-allowed'
  /** `read` threw, or returned what JSON cannot carry. */
  | 'read-failed'
  /** A file is not what was saved. */
  | 'corrupt'
  /** The journal could not be read, or did not fit where it is kept. */
  | 'journal-failed'

/** Decide by `code`; `retryable` says whether the same save may succeed later without anybody's help. */
export class AutoSaveError extends Error {
  override readonly name = 'AutoSaveError'
  readonly code: AutoSaveErrorCode
  readonly retryable: boolean

  constructor(code: AutoSaveErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.retryable = code === 'write-failed' || code === 'lock-unavailable'
  }
}

/** Says in our words why the directory refused. */
export function asWriteError(error: unknown): AutoSaveError {
  if (error instanceof AutoSaveError) return error
  switch ((error as Error | undefined)?.name) {
    case 'QuotaExceededError':
      return new AutoSaveError('quota-exceeded', 'there is no room left to save in', error)
    case 'NotAllowedError':
    case 'SecurityError':
      return new AutoSaveError('not-allowed', 'the directory may not be written to', error)
    default:
      return new AutoSaveError('write-failed', 'the directory could not be written to', error)
  }
}

/** Says in our words why the lock could not be had. */
export function whyRefused(cause: unknown): {
  readonly reason: ReadOnlyReason
  readonly error: AutoSaveError
} {
  if (isDenied(cause)) {
    const error = new AutoSaveError('not-allowed', 'the file of the lock may not be written to', cause)
    return { reason: 'denied', error }
  }
  const isUnsupported = (cause as { code?: unknown } | null)?.code === 'web-lock-unsupported'
  const error = new AutoSaveError('lock-unavailable', 'the project lock could not be had', cause)
  return { reason: isUnsupported ? 'unsupported' : 'held', error }
}

/** The lock tells what the browser said as the cause of its own words. */
function isDenied(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.name === 'NotAllowedError' || isDenied(error.cause)
}
