import type { LeaseError } from '../base/errors.ts'
import { codeOf, storeError } from './store-error.ts'

/** Status codes of gRPC. */
const STATUS = {
  cancelled: 1,
  unknown: 2,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  internal: 13,
  unavailable: 14,
}

const CONFLICTS = [STATUS.notFound, STATUS.alreadyExists, STATUS.failedPrecondition, STATUS.aborted]
/** After these the same call may succeed. The client has already retried by itself. */
const RETRYABLE = [
  STATUS.cancelled,
  STATUS.unknown,
  STATUS.deadlineExceeded,
  STATUS.resourceExhausted,
  STATUS.aborted,
  STATUS.internal,
  STATUS.unavailable,
]

export function firestoreError(error: unknown, resource?: string): LeaseError {
  return storeError('Firestore', error, { retryable: RETRYABLE.includes(Number(codeOf(error))) }, resource)
}

/** A write failed because the document has changed since it was read, or is being written by others. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.includes(Number(codeOf(error)))
}

export function isAlreadyThere(error: unknown): boolean {
  return Number(codeOf(error)) === STATUS.alreadyExists
}
