/** Requests and responses of the fetch API, as the protection sees them. */
import { hasMethods, refuse } from '../base/arguments.ts'
import type { JsonValue } from '../base/records.ts'
import { type Answer, base64Of, type FinishedAnswer } from './answer.ts'
import { SHORT_BYTES } from './options.ts'
import { Refusal } from './problems.ts'
import type { Incoming } from './protection.ts'
import { readWithin } from './read-within.ts'

/** These answers have no end that one could wait for. */
const ENDLESS = /^(text\/event-stream|multipart\/x-mixed-replace)\b/i
const NO_BODY = [204, 205, 304]

/** `source`: what the functions of the options get. `readBefore`: the body, if somebody has read it already. */
export function incomingRequest<R>(
  source: R,
  request: Request,
  readBefore?: () => Promise<ArrayBuffer>,
): Incoming<R> {
  const { pathname, search } = new URL(request.url)
  return {
    source,
    method: request.method,
    target: pathname + search,
    key: request.headers.get('idempotency-key'),
    async body(limit) {
      const bytes =
        Number(request.headers.get('content-length')) > limit
          ? null
          : request.bodyUsed
            ? await readAgain(readBefore)
            : // The handler gets the request itself, whose class may be one of its framework.
              await readWithin(request.clone().body, limit)
      if (!bytes || bytes.length > limit) throw new Refusal('idempotency_body_too_large')
      return payloadOf(bytes)
    },
  }
}

async function readAgain(readBefore?: () => Promise<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readBefore?.().catch(() => null)
  if (!bytes) throw new Refusal('idempotency_body_not_read')
  return new Uint8Array(bytes)
}

/** What stands for a body: a short one for itself, a long one by its SHA-256. */
export async function payloadOf(bytes: Uint8Array<ArrayBuffer>): Promise<JsonValue> {
  if (bytes.length <= SHORT_BYTES) return { bytes: base64Of(bytes) }
  return { sha256: base64Of(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))) }
}

/** The answer that is to be stored. The response itself stays unread. */
export async function finishedResponse(response: Response, limit: number): Promise<FinishedAnswer> {
  if (!hasMethods(response, 'clone')) refuse('handler', 'a function that returns a Response', response)
  const { status, headers } = response
  return { status, headers: [...headers], body: await bodyOf(response, limit) }
}

async function bodyOf(response: Response, limit: number): Promise<FinishedAnswer['body']> {
  const { headers, bodyUsed } = response
  if (bodyUsed || isEndless(headers.get('content-type'))) return 'stream'
  if (Number(headers.get('content-length')) > limit) return 'too-large'
  return (await readWithin(response.clone().body, limit)) ?? 'too-large'
}

export function isEndless(contentType: unknown): boolean {
  return ENDLESS.test(String(contentType))
}

export function responseOf({ status, headers, body }: Answer): Response {
  return new Response(NO_BODY.includes(status) ? null : body, {
    status,
    headers: headers.map(([name, value]): [string, string] => [name, value]),
  })
}
