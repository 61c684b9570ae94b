import { refuse } from '../base/arguments.ts'
import type { Clock } from '../base/clock.ts'
import { randomId } from '../base/random-id.ts'
import type { Settings } from '../configuration/settings.ts'
import { setLimited } from './limited-map.ts'
import { MAX_REMEMBERED_COOKIES } from './options.ts'
import { Signer } from './signer.ts'

export interface Session {
  /** Nobody can guess it. */
  readonly id: string
  /** The request had no valid cookie. */
  readonly isNew: boolean
  /** A cookie to set: the request had none, or its cookie is old or signed with an old secret. */
  readonly setCookie?: string
}

/** How the browser calls the service. */
export interface CookieSender {
  readonly isSecure: boolean
  /** The path below which it sees the service; empty: at the root. */
  readonly prefix: string
}

export interface SessionCookies {
  /** The session of the request. A new one if the cookie is missing, forged or too old. */
  read(cookieHeader: string | undefined, sender: CookieSender): Session | Promise<Session>
}

interface Verified {
  readonly id: string
  readonly issuedAt: number
  readonly byFirstSecret: boolean
}

/**
 * Signed cookies: `id.issued.signature`. The first secret signs and all secrets verify, so that secrets can be
 * replaced one after the other.
 */
export function sessionCookies(
  settings: Pick<Settings, 'cookieSecrets' | 'cookieName' | 'cookieSecure' | 'cookieMaxAge'>,
  clock: Clock,
): SessionCookies {
  const { cookieSecrets, cookieName, cookieSecure, cookieMaxAge } = settings
  const signers = cookieSecrets.map((secret) => new Signer(secret))
  const signer = signers[0] ?? refuse('cookieSecrets', 'at least one secret', cookieSecrets)
  const remembered = new Map<string, Verified>()

  return {
    read(cookieHeader, sender) {
      const value = cookieHeader === undefined ? undefined : cookieIn(cookieHeader, cookieName)
      const known = value === undefined ? undefined : remembered.get(value)
      if (known && isFresh(known)) return { id: known.id, isNew: false }
      return readSlowly(value, sender)
    },
  }

  async function readSlowly(value: string | undefined, sender: CookieSender): Promise<Session> {
    const known = value === undefined ? undefined : await verify(value)
    const isNew = !known || clock.now() - known.issuedAt >= cookieMaxAge
    if (known && isFresh(known)) return { id: known.id, isNew }
    return { ...(await issue(isNew ? randomId() : known.id, sender)), isNew }
  }

  function isFresh({ byFirstSecret, issuedAt }: Verified): boolean {
    return byFirstSecret && clock.now() - issuedAt < cookieMaxAge / 2
  }

  async function verify(value: string): Promise<Verified | undefined> {
    const [id, issued, signature, ...rest] = value.split('.')
    if (!id || !issued || !signature || rest.length > 0) return undefined
    for (const each of signers) {
      if (!(await each.verify(`${id}.${issued}`, signature))) continue
      const verified = { id, issuedAt: Number.parseInt(issued, 36), byFirstSecret: each === signer }
      setLimited(remembered, value, verified, MAX_REMEMBERED_COOKIES)
      return verified
    }
    return undefined
  }

  async function issue(id: string, { isSecure, prefix }: CookieSender) {
    const content = `${id}.${clock.now().toString(36)}`
    const signature = await signer.sign(content)
    const secure = cookieSecure === 'always' || (cookieSecure === 'auto' && isSecure)
    const attributes = `Path=${prefix || '/'}; Max-Age=${Math.floor(cookieMaxAge / 1000)}; HttpOnly; SameSite=Lax`
    const setCookie = `${cookieName}=${content}.${signature}; ${attributes}${secure ? '; Secure' : ''}`
    return { id, setCookie }
  }
}

function cookieIn(header: string, name: string): string | undefined {
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim()
  }
  return undefined
}
