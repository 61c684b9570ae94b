import { LeaseError } from '../../base/errors.ts'
import { type Action, roomOf } from '../identity.ts'
import { Stopping, Superseded, Withdrawn } from '../waiting-requests.ts'
import type { HttpErrorCode, HttpStatusOf } from './error-codes.ts'

/** A refusal, as the answer will say it. */
export class HttpError<Code extends HttpErrorCode = HttpErrorCode> extends Error {
  override readonly name = 'HttpError'
  readonly status: number
  /** Stable. The message is for people. */
  readonly code: Code
  readonly details: object
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: HttpStatusOf<Code>,
    code: Code,
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

/** The answer never contains internals of an error: those are in the log. */
export function asHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  if (error instanceof Superseded)
    return new HttpError(409, 'superseded', 'a later request of the same client waits in place of this one')
  if (error instanceof Withdrawn)
    return new HttpError(409, 'withdrawn', 'a later request of the same client has withdrawn this one')
  if (error instanceof Stopping || isCode(error, 'closed'))
    return retryLater('stopping', 'the server is stopping')
  if (isCode(error, 'store-unavailable')) return retryLater('store_unavailable', 'the store does not answer')
  if (isCode(error, 'invalid-argument'))
    return new HttpError(400, 'invalid_argument', (error as LeaseError).message)
  if (isCode(error, 'store-failed'))
    return new HttpError(500, 'store_failed', 'the store cannot do that; the log of the server says why')
  return new HttpError(500, 'internal', 'something went wrong; the log of the server says what')
}

/** The tokens that allow an action which sessions may not do by default. */
const TOKENS: Partial<Record<Action, string>> = {
  lease: 'leaseTokens',
  observe: 'leaseTokens',
  telemetry: 'leaseTokens',
  admin: 'adminTokens',
}

export function forbidden(action: Action, resource: string): HttpError {
  const isRoomLease = action === 'lease' && roomOf(resource) !== null
  const tokens = isRoomLease ? TOKENS.admin : TOKENS[action]
  const remedy = tokens ? `; by default it takes one of the ${tokens} of the server` : ''
  return new HttpError(403, 'forbidden', `you may not do that${remedy}`)
}

/** For the log. Nobody reads the answer. */
export function disconnected(): HttpError {
  return new HttpError(499, 'caller_gone', 'the client has disconnected')
}

function retryLater(code: 'stopping' | 'store_unavailable', message: string): HttpError {
  return new HttpError(503, code, message, { headers: { 'Retry-After': '1' } })
}

function isCode(error: unknown, code: LeaseError['code']): boolean {
  return error instanceof LeaseError && error.code === code
}
