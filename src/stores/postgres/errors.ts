import { LeaseError } from '../../core/index.ts'

/**
 * SQLSTATEs, or their first two digits, after which the same call may succeed: connection (08), transaction
 * rollback (40), resources (53), operator intervention (57), system (58); a lock or a primary that is away.
 */
const PASSING = /^((08|40|53|57|58)...|55P03|25006)$/
/** Codes of sockets and of `postgres`. */
const CONNECTION_CODE = /^(E[A-Z_]+|CONNECT_TIMEOUT|CONNECTION_CLOSED|CONNECTION_DESTROYED)$/
/** `pg` gives these no code. */
const CONNECTION_MESSAGE = /Connection terminated|timeout|not queryable/

export function asStoreError(error: unknown, resource?: string): LeaseError {
  if (error instanceof LeaseError) return error
  const { code, message, hint } = describeError(error)
  const passes =
    CONNECTION_CODE.test(code) || PASSING.test(code) || (code === '' && CONNECTION_MESSAGE.test(message))
  return new LeaseError(
    passes ? 'store-unavailable' : 'store-failed',
    `postgres: ${message}${hint && ` (${hint})`}`,
    { cause: error, ...(resource !== undefined && { resource }) },
  )
}

/** The SQLSTATE of what the server refused, or the code of what went wrong before. */
export function codeOf(error: unknown): string {
  return describeError(error).code
}

function describeError(error: unknown): { code: string; message: string; hint: string } {
  const { code, message, hint } = Object(error) as Record<string, unknown>
  // Several addresses were tried: the errors of a list have the message that the list lacks.
  const [first] = error instanceof AggregateError ? error.errors : []
  if (first !== undefined && !message) return describeError(first)
  return { code: String(code ?? ''), message: String(message ?? error), hint: String(hint ?? '') }
}
