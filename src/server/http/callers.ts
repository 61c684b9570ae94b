import type { Settings } from '../../configuration/settings.ts'
import type { Clock } from '../../core/index.ts'
import { type Caller, clientIdOf, holderKey, type Identify, type Identity, publicIdOf } from '../identity.ts'
import type { Party } from '../locks.ts'
import { type SessionCookies, sessionCookies } from '../session-cookie.ts'
import type { HeaderOf } from './header-of.ts'
import { HttpError } from './http-error.ts'

/** An identity with its tabs: a heartbeat comes every few seconds, and a hash costs more than the rest. */
export interface Guest extends Identity {
  readonly tabs: Map<string, Party>
}

export interface Arrival {
  readonly guest: Guest
  readonly setCookie?: string
  /** Shown by a header that no page of a stranger can make a browser send. */
  readonly byToken: boolean
}

interface KnownToken {
  readonly hash: string
  readonly role: 'lease' | 'admin'
}

const TOKEN_UNKNOWN =
  'this token is not known; send one of the adminTokens or leaseTokens of the server, or no Authorization header'
const REMEMBERED = 20_000
const TABS = 100

/** Who calls: by a bearer token of the settings, else by `identify`, which is the session cookie by default. */
export class Callers {
  readonly #tokens: readonly KnownToken[]
  readonly #cookies: SessionCookies
  readonly #identify: Identify | undefined
  readonly #guests = new Map<string, Guest>()

  private constructor(
    tokens: readonly KnownToken[],
    cookies: SessionCookies,
    identify: Identify | undefined,
  ) {
    this.#tokens = tokens
    this.#cookies = cookies
    this.#identify = identify
  }

  static async create(settings: Settings, clock: Clock, identify?: Identify): Promise<Callers> {
    const { adminTokens, leaseTokens } = settings
    const hashed = (role: 'lease' | 'admin') => async (token: string) => ({
      hash: await tokenHash(token),
      role,
    })
    const tokens = await Promise.all([
      ...adminTokens.map(hashed('admin')),
      ...leaseTokens.map(hashed('lease')),
    ])
    return new Callers(tokens, await sessionCookies(settings, clock), identify)
  }

  async arrive(request: Request, header: HeaderOf): Promise<Arrival> {
    const authorization = header('authorization')
    if (authorization !== undefined) {
      const guest = await this.#byToken(authorization)
      if (guest) return { guest, byToken: true }
      // A token of another kind is for `identify`; a cookie's session must not take its place in silence.
      if (!this.#identify && /^Bearer /i.test(authorization))
        throw new HttpError(401, 'unauthenticated', TOKEN_UNKNOWN)
    }
    if (this.#identify) {
      const caller = await this.#identify(request)
      if (!caller) throw new HttpError(401, 'unauthenticated', 'who you are could not be told')
      return { guest: await this.#guest(caller), byToken: false }
    }
    const isSecure = request.url.startsWith('https:') || header('x-forwarded-proto') === 'https'
    const { id, setCookie } = await this.#cookies.read(header('cookie'), isSecure)
    return { guest: await this.#guest({ id }), byToken: false, ...(setCookie !== undefined && { setCookie }) }
  }

  async #byToken(authorization: string): Promise<Guest | undefined> {
    const [, token] = /^Bearer (\S+)$/i.exec(authorization) ?? []
    if (token === undefined) return undefined
    const hash = await tokenHash(token)
    const found = this.#tokens.filter((known) => isSame(known.hash, hash))[0]
    return found && this.#guest({ id: hash, role: found.role })
  }

  async #guest({ id, name, role = 'session' }: Caller): Promise<Guest> {
    const known = this.#guests.get(id)
    if (known && known.name === name && known.role === role) return known
    const publicId = await publicIdOf(id)
    const guest = { id, publicId, role, tabs: new Map(), ...(name !== undefined && { name }) }
    this.#guests.set(id, guest)
    if (this.#guests.size > REMEMBERED) forgetOldest(this.#guests)
    return guest
  }
}

/** The caller in one of its tabs; `client` is empty where it names none. */
export async function partyOf(guest: Guest, client: string): Promise<Party> {
  const known = guest.tabs.get(client)
  if (known) return known
  const { id, publicId, name } = guest
  const person = {
    session_id: publicId,
    ...(client !== '' && { client_id: await clientIdOf(id, client) }),
    ...(name !== undefined && { name }),
  }
  const party = { key: await holderKey(id, client), person }
  guest.tabs.set(client, party)
  if (guest.tabs.size > TABS) forgetOldest(guest.tabs)
  return party
}

function forgetOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}

/** Of one length, so that comparing them tells nothing about the token. */
function tokenHash(token: string): Promise<string> {
  return holderKey('token', token)
}

/** Takes the same time wherever they differ. */
function isSame(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let n = 0; n < a.length; n++) difference |= a.charCodeAt(n) ^ b.charCodeAt(n)
  return difference === 0
}
