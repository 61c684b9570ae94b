import { onAbort } from '../base/abort.ts'
import { isObject, refuse, show } from '../base/arguments.ts'
import { systemClock } from '../base/clock.ts'
import { LeaseError, type LeaseErrorCode, messageOf } from '../base/errors.ts'
import { CLIENT_HEADER, PROTOCOL_HEADER, PROTOCOL_VERSION } from '../protocol/names.ts'
import { parseJson } from '../protocol/pusher.ts'
import {
  areHeaders,
  type HeaderRecord,
  LONGEST_RETRY_AFTER_MS,
  type MaybeLater,
  REQUEST_LIMIT_MS,
} from './options.ts'

/** A JSON object from the network: no field is known to exist, or to have the right type. */
export type Body = Readonly<Partial<Record<FieldName, unknown>>>
type FieldName =
  | 'activity_timeout'
  | 'answer_within_ms'
  | 'auth'
  | 'by'
  | 'channel'
  | 'channel_data'
  | 'channel_key'
  | 'client_id'
  | 'content'
  | 'error'
  | 'expires_at'
  | 'expires_in_ms'
  | 'grace_ms'
  | 'heartbeat_ms'
  | 'holder'
  | 'is_locked'
  | 'kind'
  | 'limit'
  | 'line'
  | 'locked_at'
  | 'message'
  | 'name'
  | 'passes'
  | 'place'
  | 'postponed_ms'
  | 'presence'
  | 'request'
  | 'request_id'
  | 'saved_at'
  | 'sequence'
  | 'session_id'
  | 'socket_id'
  | 'success'
  | 'token'
  | 'ttl_ms'
  | 'user_id'
  | 'user_info'
  | 'waiting'
  | 'waiting_count'
  | 'you'

export interface ApiResponse {
  readonly status: number
  /** Empty if the server sent no JSON object. */
  readonly body: Body
  /** The text of a response that is not a JSON object. */
  readonly text?: string
  /** How long the server asks to wait before the next request. */
  readonly retryAfterMs?: number
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
  /** Continues after the page is closed. Browsers refuse that for large bodies; then it is sent without. */
  readonly keepalive?: boolean
  /** The longest time for the response, in milliseconds. Default 10 000. */
  readonly limit?: number
}

export type Api = (request: ApiRequest) => Promise<ApiResponse>

export interface ApiOptions {
  /** The address of the server, as `baseUrl` returns it. */
  readonly url: string
  /** Identifies this tab or process within its session. */
  readonly clientId: string
  /** Called before each request. */
  readonly headers?: (() => MaybeLater<HeaderRecord>) | undefined
}

/** Tells the developer of a page, if there is one, why something does not work. */
export function hint(url: string, about?: ApiResponse | 'polling'): void {
  if (globalThis.document) import('./hints.ts').then((hints) => hints.explain(url, about)).catch(() => {})
}

/**
 * Sends requests to the server. Resolves with every response below 500 but 429. Rejects with a retryable
 * `store-unavailable` if the server does not answer or cannot serve now, or if `signal` aborts, and with a code of
 * its own if the server limits something.
 */
export function createApi({ url, clientId, headers }: ApiOptions): Api {
  /** Tells the developer of a page what is missing, until the server has answered. */
  let explain = (response?: ApiResponse) => hint(url, response)
  return async ({ method, path, body, signal, keepalive = false, limit = REQUEST_LIMIT_MS }) => {
    const own = await currentHeaders(headers)
    // A signal of `AbortSignal.timeout` would keep the whole request in memory until its time is over.
    const ending = new AbortController()
    const end = (reason: unknown) => ending.abort(reason)
    const cancel = systemClock.setTimer(() => end(Error(`no answer within ${limit} ms`)), limit, true)
    const unlisten = onAbort(signal, () => end(signal?.reason))
    const send = (keepalive: boolean) =>
      fetch(new URL(path, url), {
        method,
        headers: {
          ...own,
          [CLIENT_HEADER]: clientId,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        credentials: 'include',
        keepalive,
        // `undefined` without a body.
        body: JSON.stringify(body),
        signal: ending.signal,
      })
    let response: Response
    let text: string
    try {
      response = await send(keepalive).catch((cause) => (keepalive ? send(false) : Promise.reject(cause)))
      text = await response.text()
    } catch (cause) {
      explain()
      // The cause of a failed `fetch` says why.
      const { cause: reason = cause } = Object(cause) as { readonly cause?: unknown }
      const message = `the server cannot be reached: ${messageOf(reason)}`
      throw new LeaseError('store-unavailable', message, { cause: reason })
    } finally {
      cancel()
      unlisten()
    }
    const { status } = response
    const version = Number(response.headers.get(PROTOCOL_HEADER))
    if (version > PROTOCOL_VERSION)
      throw new LeaseError(
        'store-failed',
        `the server speaks protocol ${version}, this client ${PROTOCOL_VERSION}: reload the page, or update holdfast`,
      )
    const json = parseJson(text)
    const retryAfterMs = retryAfterIn(response.headers)
    const received: ApiResponse = isObject(json)
      ? { status, body: json, retryAfterMs }
      : { status, body: {}, text, retryAfterMs }
    if (status < 400 ? received.body === json : received.body.error && status !== 403) explain = () => {}
    else explain(received)
    return available(received)
  }
}

/** The response, unless the server cannot serve now or limits something. */
export function available(response: ApiResponse): ApiResponse {
  const { status, body } = response
  if (status === 429)
    throw failure(body.error === 'too_many_waiters' ? 'too-many-waiters' : 'too-many-requests', response)
  if (status >= 500) throw failure('store-unavailable', response)
  return response
}

/** In seconds, as our server sends it. Proxies may send a date, or more than a page should wait. */
function retryAfterIn(headers: globalThis.Headers): number {
  const text = headers.get('retry-after') ?? '0'
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Math.min(Math.max(ms || 0, 0), LONGEST_RETRY_AFTER_MS)
}

/** How many milliseconds the server asked to wait before the next request. */
export function retryAfterOf(error: unknown): number {
  const { retryAfterMs } = Object(Object(error).cause)
  return typeof retryAfterMs === 'number' ? retryAfterMs : 0
}

async function currentHeaders(headers: ApiOptions['headers']): Promise<HeaderRecord> {
  let current: HeaderRecord
  try {
    current = (await headers?.()) ?? {}
  } catch (cause) {
    throw new LeaseError('store-unavailable', `headers: ${messageOf(cause)}`, { cause })
  }
  return areHeaders(current) ? current : refuse('headers', 'HTTP headers', current)
}

/** The server does not know who sends the request: the token or the session has expired. */
export function isSignedOut(error: unknown): boolean {
  return Object(Object(error).cause).status === 401
}

/** Whether the server has answered, though it did not serve. */
export function isAnswered(error: unknown): boolean {
  return Number.isInteger(Object(Object(error).cause).status)
}

/** For a response that the caller cannot use. */
export function unexpected(response: ApiResponse): LeaseError {
  return failure(response.status === 413 ? 'too-large' : 'store-failed', response)
}

function failure(code: LeaseErrorCode, response: ApiResponse): LeaseError {
  const { status, body, text, retryAfterMs } = response
  const other = `not a response of Holdfast${text === undefined ? '' : `, but ${show(text)}`}`
  const reason = [body.message, body.error].find((text) => typeof text === 'string') ?? other
  const cause = { ...body, status, ...(retryAfterMs && { retryAfterMs }) }
  return new LeaseError(code, `the server answered ${status}: ${reason}`, { cause })
}
