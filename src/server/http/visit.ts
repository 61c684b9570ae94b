import type { Context } from 'hono'
import { checkResource } from '../../core/index.ts'
import { CLIENT_HEADER } from '../../protocol/index.ts'
import { roomResource } from '../identity.ts'
import type { Party } from '../locks.ts'
import { type Guest, partyOf } from './callers.ts'
import { HttpError } from './http-error.ts'
import type { QueryParameter } from './query.ts'
import type { Call } from './route.ts'

const NOBODY: Guest = { id: '', publicId: '', role: 'session', tabs: new Map() }

/** A request on its way to its handler. */
export class Visit implements Call<never> {
  identity = NOBODY
  body = undefined as never
  readonly #context: Context
  readonly #stop: AbortSignal
  room = ''
  resource = ''

  constructor(context: Context, stop: AbortSignal) {
    this.#context = context
    this.#stop = stop
  }

  get signal(): AbortSignal {
    return AbortSignal.any([this.#context.req.raw.signal, this.#stop])
  }

  /** Checks the names of the path, and says what the call is about. */
  check(maxRoomBytes: number): string {
    const { roomId, resource = this.#context.req.query('resource') } = this.#context.req.param() as {
      roomId?: string
      resource?: string
    }
    if (roomId !== undefined) {
      this.room = checkRoom(roomId, maxRoomBytes)
      return this.room
    }
    if (resource !== undefined) this.resource = checkResource(resource)
    return this.resource
  }

  party(client = this.#context.req.header(CLIENT_HEADER) ?? ''): Promise<Party> {
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
  const invalid = (why: string) => new HttpError(400, 'invalid_room', `the room: ${why}`)
  if (new TextEncoder().encode(room).length > maxBytes) throw invalid(`at most ${maxBytes} bytes`)
  try {
    checkResource(roomResource(room))
    return checkResource(room)
  } catch {
    throw invalid('no control characters')
  }
}

export function addressOf(context: Context, request: Request, trustProxy: boolean): string {
  const forwarded = trustProxy ? request.headers.get('x-forwarded-for')?.split(',').at(-1)?.trim() : undefined
  const { incoming } = Object(context.env) as { incoming?: { socket?: { remoteAddress?: string } } }
  return forwarded ?? incoming?.socket?.remoteAddress ?? request.headers.get('cookie') ?? ''
}
