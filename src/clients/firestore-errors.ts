import type { LeaseError } from '../base/errors.ts'
import { codeOf, storeError } from './store-error.ts'

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
/** After these the same call may succeed. The client has already retried by itself. */
const RETRYABLE = [CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, INTERNAL, UNAVAILABLE]

export function firestoreError(error: unknown, resource?: string): LeaseError {
  return storeError('Firestore', error, { retryable: RETRYABLE.includes(Number(codeOf(error))) }, resource)
}

/** A write failed because the document has changed since it was read, or is being written by others. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.includes(Number(codeOf(error)))
}

export function isAlreadyThere(error: unknown): boolean {
  return Number(codeOf(error)) === ALREADY_EXISTS
}
