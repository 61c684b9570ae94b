import { LeaseError, messageOf } from '../base/errors.ts'
import { serverError } from './server-error.ts'
import type { Verdict } from './store-error.ts'

/** The server is there but cannot serve us now. Old servers put these codes into the middle of a message. */
const RETRYABLE_REPLY =
  /\b(LOADING|READONLY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|NOREPLICAS|BUSY|OOM|MISCONF|max number of clients)\b/
/** A reply of the server begins with a code, such as `WRONGTYPE …`. Without one, the server was not reached. */
const REPLY = /^-?[A-Z]{3,} /
/**
 * The messages of ioredis and node-redis for a connection that does not come back: the user closed it, or its retry
 * strategy gave up. Where it means only that another connection is needed, `redis.ts` reports `brokenError` instead.
 */
const ENDED = /^(Connection is closed\.|The client is closed)/

export function redisError(error: unknown, resource?: string): LeaseError {
  return serverError('Redis', error, verdictOn(error), resource)
}

export function isEnded(error: unknown): boolean {
  return ENDED.test(messageOf(error))
}

export function brokenError(cause: unknown): LeaseError {
  return new LeaseError('store-unavailable', 'Redis: the connection broke', { cause })
}

export function isReply(error: unknown, code: string): boolean {
  return error instanceof Error && error.message.startsWith(code)
}

function verdictOn(error: unknown): Verdict {
  const message = messageOf(error)
  if (isEnded(error))
    return { retryable: false, advice: 'this client was never connected, was closed, or does not reconnect' }
  if (isReply(error, 'MOVED'))
    return {
      retryable: false,
      advice: 'this server is part of a cluster: use a cluster client, or redis+cluster: on the command line',
    }
  const isError = typeof (Object(error) as { readonly message?: unknown }).message === 'string'
  const isFinal =
    !isError || error instanceof TypeError || (REPLY.test(message) && !RETRYABLE_REPLY.test(message))
  return { retryable: !isFinal }
}
