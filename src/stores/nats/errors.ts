import { LeaseError } from '../../core/index.ts'

const WRONG_LAST_SEQUENCE = [10071, 10164]
/** By name, since the classes come from whichever copy of the client the connection was made with. */
const PASSING = ['TimeoutError', 'ConnectionError', 'RequestError', 'NoResponders', 'JetStreamNotEnabled']
const MISSING_BUCKET = ['StreamNotFoundError', 'JetStreamNotEnabled']
const REFUSED = ['PermissionViolationError', 'AuthorizationError', 'UserAuthenticationExpiredError']

interface NatsError {
  readonly name?: string
  readonly message?: string
  readonly code?: number
  readonly status?: number
  readonly cause?: unknown
}

export function isConflict(error: unknown): boolean {
  const { name, code } = Object(error) as NatsError
  return name === 'JetStreamApiError' && WRONG_LAST_SEQUENCE.includes(code ?? 0)
}

/** It was deleted, or has no leader at the moment; opening it anew will tell. */
export function isMissingBucket(error: unknown): boolean {
  return MISSING_BUCKET.includes((Object(error) as NatsError).name ?? '')
}

export function explain(error: unknown): LeaseError {
  if (error instanceof LeaseError) return error
  const passing = !causes(error).some(({ name = '' }) => REFUSED.includes(name)) && isPassing(error)
  const { message = String(error) } = Object(error) as NatsError
  return new LeaseError(passing ? 'store-unavailable' : 'store-failed', `NATS: ${message}`, { cause: error })
}

function isPassing(error: unknown): boolean {
  const { name = '', status } = Object(error) as NatsError
  return PASSING.includes(name) || isMissingBucket(error) || status === 503
}

function causes(error: unknown): NatsError[] {
  const chain: NatsError[] = []
  for (let next = error; next && chain.length < 10; next = (next as NatsError).cause) chain.push(Object(next))
  return chain
}
