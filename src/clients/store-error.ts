import { LeaseError, messageOf } from '../base/errors.ts'
import { SHOWN_CHARACTERS } from './options.ts'

/** What an error of a backend means for the caller. */
export interface Verdict {
  /** Whether the same call may succeed later. */
  readonly retryable: boolean
  /** What the user can do about it. */
  readonly advice?: string | undefined
}

/**
 * The error of a backend as a `LeaseError`: `store-unavailable` if it is retryable, else `store-failed`.
 *
 * @example
 * const explain = (error: unknown) => storeError('Mine', error, { retryable: isConnectionError(error) })
 */
export function storeError(
  backend: string,
  error: unknown,
  { retryable, advice }: Verdict,
  resource?: string,
  reason = messageOf(error),
): LeaseError {
  if (error instanceof LeaseError) return error
  const message = `${backend}: ${reason}${advice ? `; ${advice}` : ''}`
  return new LeaseError(retryable ? 'store-unavailable' : 'store-failed', message, { cause: error, resource })
}

/**
 * An answer that has not the shape of any: empty, cut off, or that of another request. It says nothing about the
 * outcome, as if it had been lost, so the call may be repeated.
 */
export function malformedAnswer(backend: string, answer: unknown): LeaseError {
  const shown = typeof answer === 'string' ? answer.slice(0, SHOWN_CHARACTERS) : typeof answer
  return new LeaseError('store-unavailable', `${backend}: the answer is empty or malformed: ${shown}`)
}

/** The `code` of an error, or of the first of several; empty if it has none. */
export function codeOf(error: unknown): string {
  const { code, errors } = Object(error) as { readonly code?: unknown; readonly errors?: unknown }
  if (typeof code === 'string' || typeof code === 'number') return String(code)
  return Array.isArray(errors) && errors.length > 0 ? codeOf(errors[0]) : ''
}

/**
 * Whether no connection could be made or kept, by the codes of sockets and DNS.
 *
 * @example
 * throw storeError('Mine', error, { retryable: isConnectionError(error) })
 */
export function isConnectionError(error: unknown): boolean {
  return isConnectionCode(codeOf(error))
}

/** Codes of sockets and DNS, such as `ECONNREFUSED`, but not Node's `ERR_…`, which are mistakes of a program. */
export function isConnectionCode(code: string): boolean {
  return /^E(?!RR_)[A-Z_]+$/.test(code)
}
