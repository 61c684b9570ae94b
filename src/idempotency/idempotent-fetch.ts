import type { Clock } from '../base/clock.ts'
import { pauseUntilAborted } from '../base/pause.ts'
import { formatKey } from './key.ts'
import { checkFetchOptions, FIRST_PAUSE_MS, type IdempotentFetchOptions } from './options.ts'

/** The server, or a proxy before it, could not answer now. */
const TEMPORARY = [408, 425, 429, 502, 503, 504]
/** Requests with these methods change nothing more when they are repeated. */
const WITHOUT_KEY = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']

/**
 * A `fetch` that gives every request an `Idempotency-Key`, and repeats it with the same key when the connection fails
 * or the server asks to come back. For servers that know such keys: others carry out each repeated request.
 *
 * @example
 * const send = idempotentFetch()
 * const response = await send('https://api.example/charges', { method: 'POST', body: JSON.stringify(order) })
 */
export function idempotentFetch(options: IdempotentFetchOptions = {}): typeof fetch {
  const { tries, maxPauseMs, newKey, send, clock } = checkFetchOptions(options)
  return async (input, init) => {
    const request = await repeatableRequest(input, init, newKey)
    const { signal } = request
    for (let failures = 0; ; failures++) {
      const isLast = request.isOneShot || failures >= tries - 1
      const answer = await send(...request.next()).catch((error: unknown) => {
        signal.throwIfAborted()
        // This is how `fetch` reports that there was no answer.
        if (isLast || !(error instanceof TypeError)) throw error
        return null
      })
      if (answer && (isLast || !isTemporary(answer))) return answer
      const askedMs = answer && retryAfterMs(answer, clock)
      if (answer && askedMs !== null && askedMs > maxPauseMs) return answer
      answer?.body?.cancel().catch(() => {})
      const backoff = FIRST_PAUSE_MS * 2 ** failures * (0.5 + clock.random())
      // Never earlier than asked, and not all clients at the same time.
      const ms = askedMs === null ? Math.min(backoff, maxPauseMs) : askedMs * (1 + 0.2 * clock.random())
      await pauseUntilAborted(clock, ms, signal)
    }
  }
}

interface RepeatableRequest {
  /** Its body can be sent only once. */
  readonly isOneShot: boolean
  readonly signal: AbortSignal
  /** The arguments of the next try. */
  next(): Parameters<typeof fetch>
}

async function repeatableRequest(
  input: string | URL | Request,
  init: RequestInit = {},
  newKey: () => string,
): Promise<RepeatableRequest> {
  const request = input instanceof Request ? input : null
  const headers = new Headers(init.headers ?? request?.headers)
  const method = (init.method ?? request?.method ?? 'GET').toUpperCase()
  if (!WITHOUT_KEY.includes(method) && !headers.has('idempotency-key'))
    headers.set('idempotency-key', formatKey(newKey()))
  let { body } = init
  if (body instanceof FormData) {
    // With each `fetch` a form would have another boundary, and so other bytes.
    const form = new Response(body)
    headers.set('content-type', form.headers.get('content-type') ?? '')
    body = await form.arrayBuffer()
  }
  return {
    isOneShot: Object(body)[Symbol.asyncIterator] !== undefined || body instanceof ReadableStream,
    signal: init.signal ?? request?.signal ?? new AbortController().signal,
    next: () => [request ? request.clone() : input, { ...init, headers, ...(body && { body }) }],
  }
}

function isTemporary({ status, headers }: Response): boolean {
  return TEMPORARY.includes(status) || (status === 409 && headers.has('retry-after'))
}

/** The header has seconds or a date. `null`: it has neither. */
function retryAfterMs({ headers }: Response, clock: Clock): number | null {
  const text = headers.get('retry-after') ?? ''
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - clock.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}
