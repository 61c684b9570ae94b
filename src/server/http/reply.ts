import { randomId } from '../../base/random-id.ts'
import { PROTOCOL_HEADER, PROTOCOL_VERSION } from '../../protocol/index.ts'
import type { HttpError } from './http-error.ts'
import type { Reply } from './route.ts'

const HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  [PROTOCOL_HEADER]: String(PROTOCOL_VERSION),
}

export function respond({ status = 200, body, headers }: Reply, more: Record<string, string>): Response {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return new Response(status === 304 ? null : text, { status, headers: { ...HEADERS, ...headers, ...more } })
}

export function replyOf({ status, code, message, details, headers }: HttpError) {
  return { status, body: { error: code, message, ...details }, headers } satisfies Reply
}

/** The answer to a request that does not reach the service. */
export function refusalOf(error: HttpError) {
  const { status, body, headers } = replyOf(error)
  const all: Record<string, string> = { ...HEADERS, ...headers, 'X-Request-Id': randomId() }
  return { status, headers: all, body: JSON.stringify(body) }
}
