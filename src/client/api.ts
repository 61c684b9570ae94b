import { LeaseError, type LeaseErrorCode } from '../core/index.ts'
import { CLIENT_HEADER, parseJson } from '../protocol/index.ts'

/** What is read of answers and events. They come from the network, so no type is taken for granted. */
export type Fields = Readonly<Partial<Record<FieldName, unknown>>>
type FieldName =
  | 'answer_within_ms'
  | 'auth'
  | 'by'
  | 'channel'
  | 'channel_key'
  | 'client_id'
  | 'content'
  | 'error'
  | 'expires_at'
  | 'expires_in_ms'
  | 'heartbeat_ms'
  | 'holder'
  | 'is_locked'
  | 'kind'
  | 'line'
  | 'locked_at'
  | 'message'
  | 'name'
  | 'place'
  | 'request_id'
  | 'saved_at'
  | 'session_id'
  | 'token'
  | 'ttl_ms'
  | 'waiting'
  | 'you'

export interface Answer {
  readonly status: number
  readonly body: Fields
}

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
  /** Goes on when the page is left. Browsers refuse that where it is too much, so then it is sent without. */
  readonly keepalive?: boolean
  /** Milliseconds that the answer may take. Default 10 000. */
  readonly limit?: number
}

export type Api = (request: Request) => Promise<Answer>

export interface ApiOptions {
  /** Where the server is. */
  readonly url: string
  /** Names this tab or process, beside the session that the cookie names. */
  readonly clientId: string
  readonly headers?: Readonly<Record<string, string>> | undefined
}

const LIMIT_MS = 10_000

/** The address with a slash at its end, so that paths are added to its own. */
export function baseOf(url: string | URL): string {
  if (!URL.canParse(url))
    throw new LeaseError('invalid-argument', `url: expected the address of a Holdfast server, got ${url}`)
  return String(url).replace(/\/?$/, '/')
}

/**
 * Calls the server. Resolves with whatever it answers below 500; rejects with a retryable `store-unavailable` when
 * it does not answer, cannot serve now, or limits the rate.
 */
export function createApi({ url, clientId, headers }: ApiOptions): Api {
  return async ({ method, path, body, signal, keepalive = false, limit = LIMIT_MS }) => {
    const send = (keepsAlive: boolean) =>
      fetch(new URL(path, url), {
        method,
        headers: {
          ...headers,
          [CLIENT_HEADER]: clientId,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        credentials: 'include',
        keepalive: keepsAlive,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.any([AbortSignal.timeout(Math.ceil(limit)), ...(signal ? [signal] : [])]),
      })
    let response: Response
    let text: string
    try {
      response = await send(keepalive).catch((cause) => (keepalive ? send(false) : Promise.reject(cause)))
      text = await response.text()
    } catch (cause) {
      if (signal?.aborted) throw new LeaseError('aborted', 'the call was aborted', { cause: signal.reason })
      throw new LeaseError('store-unavailable', 'the server cannot be reached', { cause })
    }
    const { status } = response
    const answer = { status, body: Object(parseJson(text)) }
    if (status >= 500 || status === 429) throw failure('store-unavailable', answer)
    return answer
  }
}

/** For what no caller knows how to go on from. */
export function unexpected(answer: Answer): LeaseError {
  return failure('store-failed', answer)
}

function failure(code: LeaseErrorCode, { status, body }: Answer): LeaseError {
  const reason = body.message ?? body.error ?? 'no reason given'
  return new LeaseError(code, `the server answered ${status}: ${reason}`, { cause: body })
}
