import { CLIENT_HEADER, PROTOCOL_HEADER } from '../../protocol/index.ts'
import { SHOWN_ORIGIN_LENGTH } from '../options.ts'
import type { HeaderOf } from './request-headers.ts'

/**
 * Whether a page of this origin may send the request. Browsers send `Origin`, or at least `Sec-Fetch-Site`, with
 * every request that changes something. Programs send neither.
 */
export function isAllowedOrigin(header: HeaderOf, host: string, origins: readonly string[]): boolean {
  const origin = header('origin')
  if (origin === undefined) return !['cross-site', 'same-site'].includes(header('sec-fetch-site') ?? '')
  return isTrustedOrigin(origin, host, origins)
}

/** Only a well-formed origin is repeated in the message, so that the message is safe wherever it is shown. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[\w.:[\]-]+$/

/** Why a page is refused, and what to do about it. ASCII, because the reason of a WebSocket's close is. */
export function originRefusal(origin: string | undefined, verb: 'call' | 'connect'): string {
  const isShown = origin !== undefined && origin.length <= SHOWN_ORIGIN_LENGTH && ORIGIN.test(origin)
  return isShown
    ? `pages of ${origin} may not ${verb}; add it to the server's origins`
    : `pages of this origin may not ${verb}`
}

/** For pages of another origin that is in the settings. */
export function crossOriginHeaders(
  header: HeaderOf,
  host: string,
  origins: readonly string[],
): Readonly<Record<string, string>> {
  const origin = header('origin')
  if (origin === undefined || !origins.includes(origin) || isOwnOrigin(origin, host)) return {}
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Expose-Headers': `ETag, Retry-After, X-Request-Id, ${PROTOCOL_HEADER}`,
    Vary: 'Origin',
  }
}

/** Headers that pages may send: our client's, those of Laravel's pages, and those that Echo adds. */
const ALLOWED_HEADERS = [
  ...['Authorization', 'Content-Type', 'If-Match', 'If-None-Match', CLIENT_HEADER],
  ...['X-CSRF-TOKEN', 'X-XSRF-TOKEN', 'X-Socket-ID', 'X-Requested-With'],
]

/** `more`: further headers that pages may send. */
export function preflightHeaders(more: readonly string[]): Readonly<Record<string, string>> {
  return {
    'Access-Control-Allow-Methods': 'GET, POST, PUT, DELETE',
    'Access-Control-Allow-Headers': [...ALLOWED_HEADERS, ...more].join(', '),
    'Access-Control-Max-Age': '600',
  }
}

/** Whether it is the server's own origin, or one of these. */
export function isTrustedOrigin(origin: string, host: string, origins: readonly string[]): boolean {
  return isOwnOrigin(origin, host) || origins.includes(origin)
}

/** The scheme is ignored, because a proxy may terminate TLS. */
function isOwnOrigin(origin: string, host: string): boolean {
  const name = host.toLowerCase()
  return origin === `http://${name}` || origin === `https://${name}`
}
