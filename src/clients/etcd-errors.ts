import { LeaseError, messageOf } from '../base/errors.ts'
import { serverError } from './server-error.ts'
import { codeOf, type Verdict } from './store-error.ts'

/** Status codes of gRPC after which the same call may succeed. `etcd3` has already retried some of them by itself. */
const RETRYABLE_CODES = [1, 2, 4, 8, 10, 13, 14]
/** The names of the classes of `etcd3`, which have no codes. By name, because there may be several copies of it. */
const RETRYABLE_CLASSES = [
  'GRPCCancelledError',
  'GRPCUnknownError',
  'GRPCDeadlineExceededError',
  'GRPCResourceExhastedError',
  'GRPCAbortedError',
  'GRPCInternalError',
  'GRPCUnavailableError',
  'EtcdWatchStreamEnded',
  // The client sends nothing to this host for a while, because it failed several times.
  'BrokenCircuitError',
]
/** Some errors of the server have only a message. */
const RETRYABLE_MESSAGE =
  /no leader|leader changed|request timed out|too many requests|not capable|server stopped|unhealthy cluster/
const FINAL_MESSAGE = /database space exceeded/
const LEASE_NOT_FOUND = /requested lease not found/

export function etcdError(error: unknown, resource?: string): LeaseError {
  // `etcd3` repeats a request also when no time is left, and only the error of the last copy is known.
  if (classOf(error) === 'GRPCDeadlineExceededError')
    return new LeaseError('store-unavailable', 'etcd: no answer in time', { resource, cause: error })
  return serverError('etcd', error, verdictOn(error), resource)
}

/** The etcd lease has expired or was revoked. */
export function isLeaseGone(error: unknown): boolean {
  return LEASE_NOT_FOUND.test(messageOf(error)) || classOf(error) === 'EtcdLeaseInvalidError'
}

/** The server knows neither this user nor this password. */
export function isAccessDenied(error: unknown): boolean {
  return /^(EtcdAuthenticationFailedError|EtcdPermissionDeniedError|GRPCUnauthenticatedError)$/.test(
    classOf(error),
  )
}

function verdictOn(error: unknown): Verdict {
  const name = classOf(error)
  const message = messageOf(error)
  if (name === 'ClientClosedError') return { retryable: false, advice: 'this client was closed' }
  if (FINAL_MESSAGE.test(message))
    return { retryable: false, advice: 'compact and defragment etcd, then disarm its alarm NOSPACE' }
  // An etcd lease is granted for each attempt. If this process stood still, it may have expired before it was used.
  const retryable =
    isLeaseGone(error) ||
    RETRYABLE_CLASSES.includes(name) ||
    RETRYABLE_CODES.includes(Number(codeOf(error))) ||
    (error instanceof Error && RETRYABLE_MESSAGE.test(message))
  return { retryable }
}

function classOf(error: unknown): string {
  try {
    return String(Object(error).constructor.name)
  } catch {
    return ''
  }
}
