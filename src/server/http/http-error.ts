import { LeaseError } from '../../core/index.ts'
import type { Action } from '../identity.ts'
import { Superseded, Withdrawn } from '../waiting.ts'

/** What a caller did wrong, or cannot have now, as the answer will say it. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly status: number
  /** Stable; the message is for people. */
  readonly code: string
  readonly details: object
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: string,
    message: string,
    more: { readonly details?: object; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.details = more.details ?? {}
    this.headers = more.headers ?? {}
  }
}

/** The server is being stopped; the caller may ask again, perhaps another node. */
export class Stopping extends Error {
  override readonly name = 'Stopping'
}

/** Never the internals of what went wrong: those are for the log. */
export function asHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  if (error instanceof Superseded)
    return new HttpError(409, 'superseded', 'another request of yours waits in place of this one')
  if (error instanceof Withdrawn)
    return new HttpError(409, 'withdrawn', 'another request of yours has given this up')
  if (error instanceof Stopping || isCode(error, 'closed'))
    return tryLater('stopping', 'the server is stopping')
  if (isCode(error, 'store-unavailable')) return tryLater('store_unavailable', 'the store does not answer')
  if (isCode(error, 'invalid-argument'))
    return new HttpError(400, 'invalid_argument', (error as LeaseError).message)
  if (isCode(error, 'store-failed'))
    return new HttpError(500, 'store_failed', 'the store cannot do that; the log of the server says why')
  return new HttpError(500, 'internal', 'something went wrong; the log of the server says what')
}

/** Whose callers may do what sessions may not, unless an `authorize` says otherwise. */
const TOKENS: Partial<Record<Action, string>> = {
  lease: 'leaseTokens',
  observe: 'leaseTokens',
  admin: 'adminTokens',
}

export function forbidden(action: Action): HttpError {
  const tokens = TOKENS[action]
  const remedy = tokens ? `; by default it takes one of the ${tokens} of the server` : ''
  return new HttpError(403, 'forbidden', `you may not do that${remedy}`)
}

/** For the log; nobody reads the answer. */
export function callerGone(): HttpError {
  return new HttpError(499, 'caller_gone', 'the caller went away')
}

function tryLater(code: string, message: string): HttpError {
  return new HttpError(503, code, message, { headers: { 'Retry-After': '1' } })
}

function isCode(error: unknown, code: LeaseError['code']): boolean {
  return error instanceof LeaseError && error.code === code
}
