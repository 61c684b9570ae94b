import type { Context } from 'hono'
import { checkResource } from '../../base/resource-name.ts'
import { CLIENT_HEADER } from '../../protocol/index.ts'
import { roomOf, roomResource } from '../identity.ts'
import type { Party } from '../locks.ts'
import { type Guest, partyOf } from './callers.ts'
import { type HeaderOf, headersOf } from './header-of.ts'
import { HttpError } from './http-error.ts'
import type { QueryParameter } from './query.ts'
import type { Call } from './route.ts'

const utf8 = new TextEncoder()
const CLIENT = CLIENT_HEADER.toLowerCase()
const NOBODY: Guest = { id: '', publicId: '', role: 'session', tabs: new Map() }

/** A request on its way to its handler. */
export class Visit implements Call<never> {
  identity = NOBODY
  body = undefined as never
  readonly header: HeaderOf
  readonly #context: Context
  readonly #stop: AbortSignal
  room = ''
  resource = ''

  constructor(context: Context, stop: AbortSignal) {
    this.header = headersOf(context)
    this.#context = context
    this.#stop = stop
  }

  get signal(): AbortSignal {
    return AbortSignal.any([this.#context.req.raw.signal, this.#stop])
  }

  /** Checks the names of the path, and says what the call is about. */
  check(maxRoomBytes: number): string {
    const { req } = this.#context
    const room = req.param('roomId')
    if (room !== undefined) {
      const [path = ''] = req.url.split('?', 1)
      if (!isDecodable(path)) throw invalidRoom(maxRoomBytes)
      this.room = checkRoom(room, maxRoomBytes)
      return this.room
    }
    const resource = req.param('resource') ?? req.query('resource')
    if (resource === undefined) return ''
    if (!isDecodable(req.url))
      throw new HttpError(400, 'invalid_argument', 'resource: expected UTF-8 behind the percent signs')
    this.resource = checkResource(resource)
    return this.resource
  }

  party(client = this.header(CLIENT) ?? ''): Promise<Party> {
    if (!/^[\w-]{0,64}$/.test(client))
      throw new HttpError(
        400,
        'invalid_client',
        `${CLIENT_HEADER}: expected up to 64 letters, digits, - and _`,
      )
    return partyOf(this.identity, client)
  }

  query<T>(name: string, parameter: QueryParameter<T>): T | undefined {
    const value = this.#context.req.query(name)
    return value === undefined ? undefined : parameter.parse(name, value)
  }

  queries(name: string): readonly string[] {
    return this.#context.req.queries(name) ?? []
  }
}

function checkRoom(room: string, maxBytes: number): string {
  try {
    // A unit of UTF-16 is three bytes at the most, so that most names need not be counted.
    if (room.length * 3 > maxBytes && utf8.encode(room).length > maxBytes) throw new RangeError()
    return roomOf(checkResource(roomResource(room))) ?? ''
  } catch {
    throw invalidRoom(maxBytes)
  }
}

function invalidRoom(maxBytes: number): HttpError {
  const expected = `a room of 1 to ${maxBytes} bytes of UTF-8 without control characters`
  return new HttpError(400, 'invalid_room', `expected ${expected}`)
}

/** What is no UTF-8 the router leaves as it stands, so `%ff` would be the same name as `%25ff`. */
function isDecodable(url: string): boolean {
  try {
    return !url.includes('%') || decodeURIComponent(url) !== ''
  } catch {
    return false
  }
}
