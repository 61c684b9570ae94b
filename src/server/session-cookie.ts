import type { Settings } from '../configuration/settings.ts'
import type { Clock } from '../core/index.ts'

/** A session as its cookie carries it: an id that nobody can guess, and when it was issued. */
export interface Session {
  readonly id: string
  /** A cookie to set, since the request had none, or one that is old or signed with an old key. */
  readonly setCookie?: string
}

export interface SessionCookies {
  /** The session of the request; a new one where the cookie is missing, forged or too old. */
  read(cookieHeader: string | undefined, isSecure: boolean): Promise<Session>
}

const REMEMBERED = 20_000
const utf8 = new TextEncoder()

interface Verified {
  readonly id: string
  readonly issuedAt: number
  readonly byFirstKey: boolean
}

/**
 * Signed cookies: `id.issued.signature`, an HMAC-SHA256 that is compared in constant time. The first secret signs,
 * all of them verify, so that secrets can be replaced one after the other.
 */
export async function sessionCookies(
  settings: Pick<Settings, 'cookieSecrets' | 'cookieName' | 'cookieSecure' | 'cookieMaxAge'>,
  clock: Clock,
): Promise<SessionCookies> {
  const { cookieSecrets, cookieName, cookieSecure, cookieMaxAge } = settings
  const keys = await Promise.all(cookieSecrets.map(importKey))
  const [signer] = keys
  if (!signer) throw new TypeError('cookieSecrets: expected at least one secret')
  /** A heartbeat comes every few seconds with the same cookie. */
  const remembered = new Map<string, Verified>()

  return {
    async read(cookieHeader, isSecure) {
      const value = cookieHeader === undefined ? undefined : cookieIn(cookieHeader, cookieName)
      const known = value === undefined ? undefined : (remembered.get(value) ?? (await verify(value)))
      const age = known ? clock.now() - known.issuedAt : Infinity
      if (!known || age >= cookieMaxAge) return issue(crypto.randomUUID(), isSecure)
      return known.byFirstKey && age < cookieMaxAge / 2 ? { id: known.id } : issue(known.id, isSecure)
    },
  }

  async function verify(value: string): Promise<Verified | undefined> {
    const [id, issued, signature, ...rest] = value.split('.')
    const bytes = fromHex(signature ?? '')
    if (!id || !issued || !bytes || rest.length > 0) return undefined
    const signed = utf8.encode(`${id}.${issued}`)
    for (const key of keys) {
      if (!(await crypto.subtle.verify('HMAC', key, bytes, signed))) continue
      const verified = { id, issuedAt: Number.parseInt(issued, 36), byFirstKey: key === signer }
      remember(value, verified)
      return verified
    }
    return undefined
  }

  function remember(value: string, verified: Verified): void {
    remembered.set(value, verified)
    if (remembered.size <= REMEMBERED) return
    for (const oldest of remembered.keys()) {
      remembered.delete(oldest)
      break
    }
  }

  async function issue(id: string, isSecure: boolean): Promise<Session> {
    const content = `${id}.${clock.now().toString(36)}`
    const signature = toHex(await crypto.subtle.sign('HMAC', signer as CryptoKey, utf8.encode(content)))
    const secure = cookieSecure === 'always' || (cookieSecure === 'auto' && isSecure)
    const attributes = `Path=/; Max-Age=${Math.floor(cookieMaxAge / 1000)}; HttpOnly; SameSite=Lax`
    const setCookie = `${cookieName}=${content}.${signature}; ${attributes}${secure ? '; Secure' : ''}`
    return { id, setCookie }
  }
}

function importKey(secret: string): Promise<CryptoKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  return crypto.subtle.importKey('raw', utf8.encode(secret), algorithm, false, ['sign', 'verify'])
}

function cookieIn(header: string, name: string): string | undefined {
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim()
  }
  return undefined
}

function toHex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  return /^[0-9a-f]{64}$/.test(text)
    ? Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
    : undefined
}
