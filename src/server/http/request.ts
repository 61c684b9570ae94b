import type { Context } from 'hono'
import { limitKeyOf } from '../../base/ip-address.ts'
import { checkResource, isLonger } from '../../base/resource-name.ts'
import { CLIENT_HEADER } from '../../protocol/index.ts'
import { type Identity, roomOf, roomResource } from '../identity.ts'
import type { LockClient } from '../locks.ts'
import type { Authentication } from './authentication.ts'
import { HttpError } from './http-error.ts'
import type { Sender } from './proxies.ts'
import type { QueryParameter } from './query.ts'
import type { HeaderOf } from './request-headers.ts'
import type { Route, RouteRequest } from './route.ts'

const CLIENT = CLIENT_HEADER.toLowerCase()
const UNIDENTIFIED: Identity = { id: '', publicId: '', role: 'session' }

/** A request on its way to its handler. The checks fill in the identity, the names and the body. */
export class IncomingRequest implements RouteRequest<never> {
  authentication: Authentication | undefined
  body = undefined as never
  room = ''
  resource = ''
  readonly header: HeaderOf
  readonly sender: Sender
  limitKey: string
  isLong = false
  readonly #context: Context
  readonly #stop: AbortSignal

  constructor(context: Context, header: HeaderOf, sender: Sender, stop: AbortSignal) {
    this.header = header
    this.sender = sender
    this.limitKey = limitKeyOf(sender.address)
    this.#context = context
    this.#stop = stop
  }

  get identity(): Identity {
    return this.authentication?.identity ?? UNIDENTIFIED
  }

  get appId(): string {
    return this.#context.req.param('appId') ?? ''
  }

  get channel(): string {
    return this.#context.req.param('channel') ?? ''
  }

  get user(): string {
    return this.#context.req.param('user') ?? ''
  }

  get signal(): AbortSignal {
    return AbortSignal.any([this.#context.req.raw.signal, this.#stop])
  }

  /**
   * Checks the names in the path, and in the query of a route that takes one there. Returns the one that the request
   * is about; empty if it is about all of them.
   */
  checkNames({ query = {} }: Route, maxRoomBytes: number): string {
    const { req } = this.#context
    const room = req.param('roomId')
    if (room !== undefined) {
      const { url } = req
      if (url.includes('%') && !isDecodable(url.split('?', 1)[0] ?? '')) throw invalidRoom(maxRoomBytes)
      this.room = checkRoom(room, maxRoomBytes)
      return this.room
    }
    const resource = req.param('resource') ?? ('resource' in query ? req.query('resource') : undefined)
    if (resource === undefined) return ''
    if (req.url.includes('%') && !isDecodable(req.url))
      throw new HttpError(400, 'invalid_argument', 'resource: expected percent-encoded UTF-8')
    this.resource = checkResource(resource)
    return this.resource
  }

  async client(clientId = this.header(CLIENT) ?? ''): Promise<LockClient> {
    if (!/^[\w-]{0,64}$/.test(clientId))
      throw new HttpError(
        400,
        'invalid_client',
        `${CLIENT_HEADER}: expected up to 64 letters, digits, - and _`,
      )
    if (!this.authentication) throw new TypeError('this route identifies nobody')
    return this.authentication.client(clientId)
  }

  query<T>(name: string, parameter: QueryParameter<T>): T | undefined {
    const value = this.#context.req.query(name)
    return value === undefined ? undefined : parameter.parse(name, value)
  }

  queries(name: string): readonly string[] {
    return this.#context.req.queries(name) ?? []
  }
}

/** The name as the store knows it. Throws `invalid_room`. */
export function checkRoom(room: string, maxBytes: number): string {
  try {
    if (isLonger(room, maxBytes) || /\p{Bidi_Control}/u.test(room)) throw new RangeError()
    return roomOf(checkResource(roomResource(room))) ?? ''
  } catch {
    throw invalidRoom(maxBytes)
  }
}

function invalidRoom(maxBytes: number): HttpError {
  const expected = `a room of 1 to ${maxBytes} bytes of UTF-8 without control characters and characters that change the direction of text`
  return new HttpError(400, 'invalid_room', `expected ${expected}`)
}

/** The router leaves invalid UTF-8 as it is. Then `%ff` would be the same name as `%25ff`. */
function isDecodable(url: string): boolean {
  try {
    return decodeURIComponent(url) !== ''
  } catch {
    return false
  }
}
