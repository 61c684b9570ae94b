import { LeaseError } from '../base/errors.ts'
import {
  type Api,
  type ApiOptions,
  type ApiRequest,
  type ApiResponse,
  type Body,
  createApi,
  unexpected,
} from './api.ts'
import type { SavedDocument } from './document-lock-types.ts'
import { hasShape, type Shape, type Shaped, TERMS } from './lock-messages.ts'

export interface LockRequestsOptions {
  readonly url: string
  readonly headers?: ApiOptions['headers']
  readonly clientId: string
  readonly roomId: string
  /** Called before a request about the lock is sent. The result is called with the response. */
  readonly expectResponse: () => (response: ApiResponse) => void
}

const NO_SESSION =
  "the session cookie is not kept. Call the server by the host name of the page (localhost is not 127.0.0.1), or set headers: { authorization: 'Bearer …' }"
const LOCK = { ...TERMS, is_locked: 'boolean' } as const
const SAVED = { token: 'number', saved_at: 'string' } as const

/** The requests of one tab about one document. The server knows a holder by its session and tab. */
export interface LockRequests {
  readonly api: Api
  /** Of the document, and of its lock. */
  readonly path: string
  readonly lockPath: string
  /** What the server said of the room, and of this tab. */
  readonly terms: Body
  /** Sends a request about the lock, whose response the view takes. */
  observed(request: ApiRequest): Promise<ApiResponse>
  /**
   * Resolves when two responses in a row were for the same session. If every response has another session, a lock
   * could neither be renewed nor released, so none is requested: it rejects.
   */
  keepSession(): Promise<void>
  /** Reads who holds the lock. */
  read(): Promise<void>
  load(): Promise<SavedDocument>
}

/** Every response is checked: a login page that answers 200 is neither a grant nor a save. */
export function createLockRequests(options: LockRequestsOptions): LockRequests {
  const { url, headers, clientId, roomId, expectResponse } = options
  const api = inOneSession(createApi({ url, clientId, headers }))
  const path = `api/documents/${encodeURIComponent(roomId)}`
  const lockPath = `${path}/lock`
  let terms: Body = {}
  /** Two responses in a row were for the same session, so the browser keeps the cookie. */
  let isSessionKept = false

  return {
    api,
    path,
    lockPath,
    get terms() {
      return terms
    },
    observed,
    keepSession,
    read,

    async load() {
      const response = await api({ method: 'GET', path })
      const { content, token, saved_at } = expectShape(response, response.body.token === null ? {} : SAVED)
      return { content, token: token as number | null, savedAt: saved_at as string | null }
    },
  }

  async function keepSession(): Promise<void> {
    // The session may change once: another tab got its cookie at the same time, or somebody signed in.
    for (let reads = 0; !isSessionKept; reads++) {
      if (reads > 1) throw new LeaseError('store-failed', NO_SESSION)
      await read()
    }
  }

  async function read(): Promise<void> {
    const answer = expectShape(await observed({ method: 'GET', path: lockPath }), LOCK)
    const { session_id }: Body = Object(answer.you)
    isSessionKept = session_id !== undefined && session_id === Object(terms.you).session_id
    terms = answer
  }

  async function observed(request: ApiRequest): Promise<ApiResponse> {
    const onResponse = expectResponse()
    const response = await api(request)
    onResponse(response)
    return response
  }
}

export function expectShape<S extends Shape>(response: ApiResponse, shape: S): Body & Shaped<S> {
  const { status, body } = response
  if (status !== 200 || !hasShape(body, shape)) throw unexpected(response)
  return body
}

let last: Promise<unknown> = Promise.resolve()

/**
 * A browser without a session cookie gets a new session with each request that it sends at the same time, and the
 * last session does not hold what another one has locked. So requests wait for each other until the first response,
 * those of all tabs if there are Web Locks, and those of one page on plain http.
 */
export function inOneSession(api: Api): Api {
  // Where there are no cookies, Web Locks are refused too.
  let hasSession = !globalThis.navigator?.cookieEnabled
  return (request) => {
    if (hasSession) return api(request)
    const send = async () => {
      const response = await api(request)
      hasSession = true
      return response
    }
    const sent = navigator.locks?.request('holdfast:session', send) ?? last.then(send, send)
    last = sent
    return sent
  }
}
