import { CLIENT_HEADER } from '../../protocol/index.ts'
import type { HeaderOf } from './header-of.ts'

/**
 * Whether a page of this origin may call. Browsers send `Origin` with every request that changes something, or at
 * least say what site it comes from; programs send neither.
 */
export function isAllowedOrigin(header: HeaderOf, url: string, origins: readonly string[]): boolean {
  const origin = header('origin')
  if (origin === undefined) return !['cross-site', 'same-site'].includes(header('sec-fetch-site') ?? '')
  return isOwnOrigin(origin, header, url) || origins.includes(origin)
}

/** What came is repeated only where it is an origin, so that it is safe wherever it is shown. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[\w.:[\]-]+$/
const LONGEST_SHOWN = 200

/** Why a page may not do this, and what to do about it. ASCII. */
export function originRefusal(origin: string | undefined, deed: 'call' | 'connect'): string {
  const isShown = origin !== undefined && origin.length <= LONGEST_SHOWN && ORIGIN.test(origin)
  return isShown
    ? `pages of ${origin} may not ${deed}; add it to the server's origins`
    : `pages of this origin may not ${deed}`
}

/** For pages of another origin that the settings name. */
export function crossOriginHeaders(
  header: HeaderOf,
  url: string,
  origins: readonly string[],
): Readonly<Record<string, string>> {
  const origin = header('origin')
  if (origin === undefined || !origins.includes(origin) || isOwnOrigin(origin, header, url)) return {}
  return { 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true', Vary: 'Origin' }
}

export const PREFLIGHT_HEADERS = {
  'Access-Control-Allow-Methods': 'GET, POST, PUT, DELETE',
  'Access-Control-Allow-Headers': `Authorization, Content-Type, ${CLIENT_HEADER}`,
  'Access-Control-Max-Age': '600',
}

/** A proxy may end TLS, so the scheme proves nothing. */
function isOwnOrigin(origin: string, header: HeaderOf, url: string): boolean {
  const host = header('host') ?? new URL(url).host
  return origin === `http://${host}` || origin === `https://${host}`
}
