import type { Context } from 'hono'
import { onAbort } from '../../base/abort.ts'
import { limitKeyOf } from '../../base/ip-address.ts'
import { checkResource, isLonger } from '../../base/resource-name.ts'
import { CLIENT_HEADER } from '../../protocol/index.ts'
import { type Identity, roomOf, roomResource } from '../identity.ts'
import type { LockClient } from '../locks.ts'
import type { Authentication } from './authentication.ts'
import { HttpError } from './http-error.ts'
import type { Sender } from './proxies.ts'
import type { QueryParameter } from './query.ts'
import { type HeaderOf, sentAddress } from './request-headers.ts'
import type { Route, RouteRequest } from './route.ts'

const CLIENT = CLIENT_HEADER.toLowerCase()
/** A path with the name `.` or `..`, before the query. */
const DOT_NAME = /^[^?]*\/(\.|%2e){1,2}(?=[/?]|$)/i
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
  #controller: AbortController | undefined
  #unlisten: readonly (() => void)[] = []

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
    if (!this.#controller) {
      const controller = new AbortController()
      // Not `AbortSignal.any`, which would leave a trace of each request in the signal of the server.
      this.#unlisten = [this.#context.req.raw.signal, this.#stop].map((signal) =>
        onAbort(signal, () => controller.abort(signal.reason)),
      )
      this.#controller = controller
    }
    return this.#controller.signal
  }

  /** The request is answered. Its signal does not abort any more. */
  end(): void {
    for (const unlisten of this.#unlisten) unlisten()
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
      if (DOT_NAME.test(sentAddress(this.#context) ?? '')) throw invalidRoom(maxRoomBytes)
      this.room = checkRoom(room, maxRoomBytes)
      return this.room
    }
    const resource = req.param('resource') ?? ('resource' in query ? req.query('resource') : undefined)
    if (resource === undefined) return ''
    this.checkEncoding('resource')
    this.resource = checkResource(resource)
    return this.resource
  }

  /** Checks every parameter of the query that the route has, also those that its handler does not read this time. */
  checkQuery({ query = {} }: Route): void {
    for (const [name, parameter] of Object.entries(query)) {
      const values = this.queries(name)
      const { isRequired = false, isRepeated = false } = parameter
      if (isRequired && values.length === 0)
        throw new HttpError(400, 'invalid_query', `${name}: expected a value`)
      if (!isRepeated && values.length > 1)
        throw new HttpError(400, 'invalid_query', `${name}: expected one value, got ${values.length}`)
      if (values.length > 0 && !isDecodable(this.#context.req.url))
        throw new HttpError(400, 'invalid_query', `${name}: expected percent-encoded UTF-8`)
      for (const value of values) parameter.parse(name, value)
    }
  }

  checkHeaders({ headers = [] }: Route): void {
    if (headers.includes(CLIENT_HEADER) && !/^[\w-]{0,64}$/.test(this.header(CLIENT) ?? ''))
      throw new HttpError(
        400,
        'invalid_client',
        `${CLIENT_HEADER}: expected up to 64 letters, digits, - and _`,
      )
  }

  checkEncoding(what: 'resource' | 'path'): void {
    const { url } = this.#context.req
    if (url.includes('%') && !isDecodable(url))
      throw new HttpError(400, 'invalid_argument', `${what}: expected percent-encoded UTF-8`)
  }

  async client(clientId = this.header(CLIENT) ?? ''): Promise<LockClient> {
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
    // `.` and `..` cannot be names in a path: `/api/documents/./lock` is the document `lock`.
    if (isLonger(room, maxBytes) || /\p{Bidi_Control}|^\.\.?$/u.test(room)) throw new RangeError()
    return roomOf(checkResource(roomResource(room))) ?? ''
  } catch {
    throw invalidRoom(maxBytes)
  }
}

function invalidRoom(maxBytes: number): HttpError {
  const expected = `a room of 1 to ${maxBytes} bytes of UTF-8 without control characters and characters that change the direction of text, and not . or ..`
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
