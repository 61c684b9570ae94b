import { show } from '../../base/arguments.ts'
import type { Clock } from '../../base/clock.ts'
import type { Settings } from '../../configuration/settings.ts'
import { GUEST_HEADER, roomOfChannel } from '../../protocol/index.ts'
import {
  type Authorize,
  clientKeyOf,
  type Identify,
  type IdentifyResult,
  type Identity,
  publicClientIdOf,
  publicIdOf,
  type Role,
  tokenHashOf,
} from '../identity.ts'
import { setLimited } from '../limited-map.ts'
import type { LockClient } from '../locks.ts'
import { MAX_CLIENTS_OF_IDENTITY, MAX_REMEMBERED_IDENTITIES } from '../options.ts'
import { type CookieSender, type SessionCookies, sessionCookies } from '../session-cookie.ts'
import { HttpError } from './http-error.ts'
import { type HeaderOf, headerOf } from './request-headers.ts'

/** What the server remembers of an identity, because hashing would be the largest part of a heartbeat. */
interface Known {
  readonly publicId: string
  readonly clients: Map<string, LockClient>
}

export interface Authentication {
  readonly identity: Identity
  /** One client of the identity. `clientId` is empty if the request names none. */
  client(clientId: string): Promise<LockClient>
  /** A session that begins with this request. Anybody can have as many of them as they like. */
  readonly isNew: boolean
  readonly setCookie?: string
  /** What limits count: all guests of one cookie together. */
  readonly limitId: string
  /** By a token in a header, which a page of another site cannot make a browser send. */
  readonly byToken: boolean
}

interface TokenRole {
  readonly hash: string
  readonly role: 'lease' | 'admin'
}

const ROLES: readonly Role[] = ['session', 'lease', 'admin']
const UNKNOWN_TOKEN =
  'the server does not know this token; send one of its leaseTokens or adminTokens, or no Authorization header'
/** For requests that open a socket: their answer sets no cookie. */
const NO_COOKIE_SET: CookieSender = { isSecure: false, prefix: '' }
const GUEST = GUEST_HEADER.toLowerCase()

/** Finds out who sent a request: by a bearer token of the settings, else by `identify`, else by the session cookie. */
export class Authenticator {
  readonly #tokens: readonly TokenRole[]
  readonly #cookies: SessionCookies
  readonly #identify: Identify | undefined
  readonly #known = new Map<string, Known>()

  private constructor(tokens: readonly TokenRole[], cookies: SessionCookies, identify: Identify | undefined) {
    this.#tokens = tokens
    this.#cookies = cookies
    this.#identify = identify
  }

  static async create(settings: Settings, clock: Clock, identify?: Identify): Promise<Authenticator> {
    const { adminTokens, leaseTokens } = settings
    const hashed = (tokens: readonly string[], role: TokenRole['role']) =>
      tokens.map(async (token) => ({ hash: await tokenHashOf(token), role }))
    const tokens = await Promise.all([...hashed(adminTokens, 'admin'), ...hashed(leaseTokens, 'lease')])
    return new Authenticator(tokens, sessionCookies(settings, clock), identify)
  }

  async authenticate(request: Request, header: HeaderOf, sender: CookieSender): Promise<Authentication> {
    const authorization = header('authorization')
    if (authorization !== undefined) {
      const result = await this.#byToken(authorization)
      if (result) return this.#authentication(result, { byToken: true, isNew: false })
      // An unknown token may be for `identify`. Without one it is refused: the session must not silently replace it.
      if (!this.#identify && /^Bearer /i.test(authorization))
        throw new HttpError(401, 'unauthenticated', UNKNOWN_TOKEN)
    }
    if (this.#identify) {
      const result = await this.#identify(request)
      if (!result) throw new HttpError(401, 'unauthenticated', 'the server could not identify the sender')
      checkResult(result)
      return this.#authentication(result, { byToken: false, isNew: false })
    }
    const { id, isNew, setCookie } = await this.#cookies.read(header('cookie'), sender)
    const cookie = setCookie === undefined ? {} : { setCookie }
    const guest = header(GUEST)
    if (guest === undefined) return this.#authentication({ id }, { byToken: false, isNew, ...cookie })
    if (!/^[\w-]{1,64}$/.test(guest))
      throw new HttpError(400, 'invalid_client', `${GUEST_HEADER}: expected 1 to 64 letters, digits, - and _`)
    // No id of a session contains a slash, so a guest is nobody else.
    const known = await this.#authentication({ id: `${id}/${guest}` }, { byToken: false, isNew, ...cookie })
    return { ...known, limitId: id }
  }

  async #byToken(authorization: string): Promise<IdentifyResult | undefined> {
    const [, token] = /^Bearer (.+)$/i.exec(authorization) ?? []
    if (token === undefined) return undefined
    const hash = await tokenHashOf(token)
    const found = this.#tokens.filter((known) => isSame(known.hash, hash))[0]
    return found && { id: hash, role: found.role }
  }

  async #authentication(
    result: IdentifyResult,
    how: Pick<Authentication, 'byToken' | 'isNew' | 'setCookie'>,
  ): Promise<Authentication> {
    const { id, role = 'session' } = result
    let known = this.#known.get(id)
    if (!known) {
      known = { publicId: await publicIdOf(id), clients: new Map() }
      setLimited(this.#known, id, known, MAX_REMEMBERED_IDENTITIES)
    }
    const { publicId, clients } = known
    // The claims are those of this request: what `identify` says may change from one request to the next.
    const identity: Identity = { ...result, role, publicId }
    return { identity, client: (clientId) => clientOf(clients, identity, clientId), limitId: id, ...how }
  }
}

/** Whether the sender of a request that opens a socket may hear a public channel: by the same rule as over HTTP. */
export function channelCheck(authenticator: Authenticator, authorize: Authorize) {
  return async (channel: string, request: Request): Promise<boolean> => {
    const sender = await authenticator
      .authenticate(request, headerOf(request), NO_COOKIE_SET)
      .catch((error) => {
        // A stranger is refused, and is no failure of the server.
        if (error instanceof HttpError) return undefined
        throw error
      })
    if (!sender) return false
    const { identity } = sender
    const room = roomOfChannel(channel)
    return room === null ? authorize(identity, 'subscribe', channel) : authorize(identity, 'read', room)
  }
}

/** Without an id of its own, every sender would be the same holder. A mistake here is not the caller's. */
function checkResult({ id, name, role }: IdentifyResult): void {
  const refuse = (field: string, expected: string, received: unknown) => {
    throw new TypeError(`identify: expected ${field} to be ${expected}, got ${show(received)}`)
  }
  if (typeof id !== 'string' || id === '') refuse('id', 'a non-empty string', id)
  if (name !== undefined && typeof name !== 'string') refuse('name', 'a string', name)
  if (role !== undefined && !ROLES.includes(role)) refuse('role', `one of ${ROLES.join(', ')}`, role)
}

async function clientOf(
  clients: Map<string, LockClient>,
  { id, publicId, name }: Identity,
  clientId: string,
): Promise<LockClient> {
  const known = clients.get(clientId)
  if (known && known.person.name === name) return known
  const person = {
    session_id: publicId,
    ...(clientId !== '' && { client_id: await publicClientIdOf(id, clientId) }),
    ...(name !== undefined && { name }),
  }
  const client = { key: await clientKeyOf(id, clientId), person }
  setLimited(clients, clientId, client, MAX_CLIENTS_OF_IDENTITY)
  return client
}

/** Takes the same time wherever they differ. */
function isSame(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let n = 0; n < a.length; n++) difference |= a.charCodeAt(n) ^ b.charCodeAt(n)
  return difference === 0
}
