import { LeaseError } from '../../core/index.ts'

/** The server is there but cannot serve us now; old servers put these codes into the middle of a message. */
const PASSING =
  /\b(LOADING|READONLY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|NOREPLICAS|BUSY|OOM|MISCONF|max number of clients)\b/
/** A reply of the server that begins with a code, such as `WRONGTYPE …`: it was reached, and refused. */
const REFUSED = /^-?[A-Z]{3,} /

/** What came of a call, as a `LeaseError`. What is no reply at all means that the server was not reached. */
export function storeError(cause: unknown): LeaseError {
  if (cause instanceof LeaseError) return cause
  const message = cause instanceof Error ? cause.message : String(cause)
  const lasting = cause instanceof TypeError || (REFUSED.test(message) && !PASSING.test(message))
  const advice = isReply(cause, 'MOVED') ? ' (this server is part of a cluster: use a cluster client)' : ''
  return new LeaseError(lasting ? 'store-failed' : 'store-unavailable', `Redis: ${message}${advice}`, {
    cause,
  })
}

export function isReply(cause: unknown, code: string): boolean {
  return cause instanceof Error && cause.message.startsWith(code)
}
