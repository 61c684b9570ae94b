import type { Clock } from '../../base/clock.ts'
import type { Settings } from '../../configuration/settings.ts'
import {
  clientKeyOf,
  type Identify,
  type IdentifyResult,
  type Identity,
  publicClientIdOf,
  publicIdOf,
  tokenHashOf,
} from '../identity.ts'
import { setLimited } from '../limited-map.ts'
import type { LockClient } from '../locks.ts'
import { type SessionCookies, sessionCookies } from '../session-cookie.ts'
import { HttpError } from './http-error.ts'
import type { HeaderOf } from './request-headers.ts'

/** An identity with its clients. They are kept, because hashing would be the largest part of a heartbeat. */
export interface KnownIdentity extends Identity {
  readonly clients: Map<string, LockClient>
}

export interface Authentication {
  readonly identity: KnownIdentity
  readonly setCookie?: string
  /** By a token in a header, which a page of another site cannot make a browser send. */
  readonly byToken: boolean
}

interface TokenRole {
  readonly hash: string
  readonly role: 'lease' | 'admin'
}

const UNKNOWN_TOKEN =
  'unknown token; send one of the adminTokens or leaseTokens of the server, or no Authorization header'
const MAX_IDENTITIES = 20_000
const MAX_CLIENTS_OF_IDENTITY = 100

/** Finds out who sent a request: by a bearer token of the settings, else by `identify`, else by the session cookie. */
export class Authenticator {
  readonly #tokens: readonly TokenRole[]
  readonly #cookies: SessionCookies
  readonly #identify: Identify | undefined
  readonly #identities = new Map<string, KnownIdentity>()

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

  async authenticate(request: Request, header: HeaderOf): Promise<Authentication> {
    const authorization = header('authorization')
    if (authorization !== undefined) {
      const identity = await this.#identityOfToken(authorization)
      if (identity) return { identity, byToken: true }
      // An unknown token may be for `identify`. Without one it is refused: the session must not silently replace it.
      if (!this.#identify && /^Bearer /i.test(authorization))
        throw new HttpError(401, 'unauthenticated', UNKNOWN_TOKEN)
    }
    if (this.#identify) {
      const result = await this.#identify(request)
      if (!result) throw new HttpError(401, 'unauthenticated', 'the server could not identify the sender')
      return { identity: await this.#identityOf(result), byToken: false }
    }
    const isSecure = request.url.startsWith('https:') || header('x-forwarded-proto') === 'https'
    const { id, setCookie } = await this.#cookies.read(header('cookie'), isSecure)
    const identity = await this.#identityOf({ id })
    return { identity, byToken: false, ...(setCookie !== undefined && { setCookie }) }
  }

  async #identityOfToken(authorization: string): Promise<KnownIdentity | undefined> {
    const [, token] = /^Bearer (\S+)$/i.exec(authorization) ?? []
    if (token === undefined) return undefined
    const hash = await tokenHashOf(token)
    const found = this.#tokens.filter((known) => isSame(known.hash, hash))[0]
    return found && this.#identityOf({ id: hash, role: found.role })
  }

  async #identityOf({ id, name, role = 'session' }: IdentifyResult): Promise<KnownIdentity> {
    const known = this.#identities.get(id)
    if (known && known.name === name && known.role === role) return known
    const publicId = await publicIdOf(id)
    const identity = { id, publicId, role, clients: new Map(), ...(name !== undefined && { name }) }
    setLimited(this.#identities, id, identity, MAX_IDENTITIES)
    return identity
  }
}

/** One client of an identity. `clientId` is empty if the request names none. */
export async function clientOf(identity: KnownIdentity, clientId: string): Promise<LockClient> {
  const known = identity.clients.get(clientId)
  if (known) return known
  const { id, publicId, name } = identity
  const person = {
    session_id: publicId,
    ...(clientId !== '' && { client_id: await publicClientIdOf(id, clientId) }),
    ...(name !== undefined && { name }),
  }
  const client = { key: await clientKeyOf(id, clientId), person }
  setLimited(identity.clients, clientId, client, MAX_CLIENTS_OF_IDENTITY)
  return client
}

/** Takes the same time wherever they differ. */
function isSame(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let n = 0; n < a.length; n++) difference |= a.charCodeAt(n) ^ b.charCodeAt(n)
  return difference === 0
}
