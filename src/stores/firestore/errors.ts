import { LeaseError } from '../../core/index.ts'

/** Status codes of gRPC. */
const CANCELLED = 1
const UNKNOWN = 2
const DEADLINE_EXCEEDED = 4
const NOT_FOUND = 5
const ALREADY_EXISTS = 6
const RESOURCE_EXHAUSTED = 8
const FAILED_PRECONDITION = 9
const ABORTED = 10
const INTERNAL = 13
const UNAVAILABLE = 14

const CONFLICTS = [NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION, ABORTED]
const PASSING = [CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, INTERNAL, UNAVAILABLE]

/** Of a write: the document is not as it was read, or others write it at this moment. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.includes(codeOf(error))
}

export function explain(error: unknown): LeaseError {
  if (error instanceof LeaseError) return error
  const message = error instanceof Error ? error.message : String(error)
  const passing = PASSING.includes(codeOf(error))
  return new LeaseError(passing ? 'store-unavailable' : 'store-failed', `Firestore: ${message}`, {
    cause: error,
  })
}

function codeOf(error: unknown): number {
  return Number((Object(error) as { readonly code?: unknown }).code)
}
