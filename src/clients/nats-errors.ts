import type { LeaseError } from '../base/errors.ts'
import { MAX_CAUSES } from '../base/options.ts'
import { serverError } from './server-error.ts'
import { codeOf, isConnectionCode } from './store-error.ts'

/** Codes of NATS and of HTTP. */
const CODE = { wrongLastSequence: [10071, 10164], serviceUnavailable: 503 }
/**
 * By name, because the classes come from whichever copy of the client made the connection. The name is not always
 * that of the class: a `NoRespondersError` is named `NoResponders`.
 */
const RETRYABLE = ['TimeoutError', 'ConnectionError', 'RequestError', 'NoResponders']
const MISSING_BUCKET = ['StreamNotFoundError', 'JetStreamNotEnabled']
const REFUSED = ['PermissionViolationError', 'AuthorizationError', 'UserAuthenticationExpiredError']

interface NatsError {
  readonly name?: string
  /** Of a `JetStreamApiError` the code of NATS, of a `JetStreamStatusError` that of HTTP. */
  readonly code?: number
  /** Of a `JetStreamApiError`: the code of HTTP. */
  readonly status?: number
  readonly cause?: unknown
}

export function natsError(error: unknown, resource?: string): LeaseError {
  const isRefused = chainOf(error).some(({ name = '' }) => REFUSED.includes(name))
  return serverError('NATS', error, { retryable: !isRefused && isRetryable(error) }, resource)
}

/** The key is not at the expected revision. */
export function isConflict(error: unknown): boolean {
  const { name, code } = Object(error) as NatsError
  return name === 'JetStreamApiError' && CODE.wrongLastSequence.includes(code ?? 0)
}

/** The bucket was deleted, or has no leader at the moment. Opening it again will show which. */
export function isMissingBucket(error: unknown): boolean {
  return MISSING_BUCKET.includes((Object(error) as NatsError).name ?? '')
}

function isRetryable(error: unknown): boolean {
  const { name = '', status, code } = Object(error) as NatsError
  const isUnavailable = status === CODE.serviceUnavailable || code === CODE.serviceUnavailable
  // The client passes on some errors of sockets and DNS as they are.
  const isConnection = isConnectionCode(codeOf(error))
  return RETRYABLE.includes(name) || isMissingBucket(error) || isUnavailable || isConnection
}

/** The error and its causes. */
function chainOf(error: unknown): NatsError[] {
  const chain: NatsError[] = []
  for (let next = error; next && chain.length < MAX_CAUSES; next = (next as NatsError).cause)
    chain.push(Object(next))
  return chain
}
