import { refuse } from '../base/arguments.ts'
import { type Clock, type Moment, moment } from '../base/clock.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { pauseUntilAborted } from '../base/pause.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Renewal } from '../core/index.ts'
import type { KeepStore } from '../core/keep-lease.ts'
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
import { hasShape, type Shape, type Shaped, TERMS, TIMES } from './lock-messages.ts'
import type { Demand } from './lock-state.ts'

export interface Grant {
  readonly lease: LeaseRecord
  /** The moment before the request was sent: the deadline counts from it. */
  readonly sent: Moment
}

export interface LockRequestsOptions {
  readonly url: string
  readonly headers?: ApiOptions['headers']
  readonly clientId: string
  readonly roomId: string
  readonly clock: Clock
  /** The name that others see. */
  readonly name: () => string | undefined
  /** Called before a request about the lock is sent. The result is called with the response. */
  readonly expectResponse: () => (response: ApiResponse) => void
}

/** How long one request waits at the server. Proxies end longer requests. */
const LONGEST_WAIT_MS = 25_000
/** The shortest time between two requests of one wait. */
const SHORTEST_WAIT_MS = 1000
/** What a response may take in addition to the time that the request waits at the server. */
const RESPONSE_MS = 10_000
/** How long after a withdrawal an earlier request is cut off, if the server has not ended it. */
const CUT_OFF_MS = 1000
/** The longest time that a server gives a holder to answer or to save. */
const DECISION_MS = 310_000

const NO_SESSION = "the session cookie is not kept; set headers: { authorization: 'Bearer …' }"
const HELD = { ...TIMES, token: 'number' } as const
const LOCK = { ...TERMS, is_locked: 'boolean' } as const
const SAVED = { token: 'number', saved_at: 'string' } as const

const DECISIONS: Readonly<Record<string, Demand>> = {
  handover_declined: 'declined',
  handover_unanswered: 'unanswered',
}

/** The requests of one tab about one document. The server knows a holder by its session and tab. */
export interface LockRequests extends KeepStore {
  readonly api: Api
  /**
   * Requests the lock, and waits in the server's queue for at most `wait` milliseconds. `null`: another tab has it.
   * `onWaiting` is called before it waits. After `stop`, a request that was sent may still be granted: the caller
   * then releases it.
   */
  acquire(wait: number, stop: AbortSignal, onWaiting?: () => void): Promise<Grant | null>
  /** Requests the lock that another tab holds. Resolves when that is decided. */
  demand(how: 'takeover' | 'request', stop: AbortSignal): Promise<Grant | Demand>
  /** The lease that this tab had, if the server still counts it as this tab's. */
  resume(): Promise<Grant | null>
  /** Gives up whatever this tab has or waits for. */
  withdraw(): Promise<void>
  /** Reads who holds the lock. */
  read(): Promise<void>
  load(): Promise<SavedDocument>
  save(content: unknown, token: number): Promise<void>
  answer(requestId: string, granted: boolean): Promise<void>
}

/** Every response is checked: a login page that answers 200 is neither a grant nor a save. */
export function createLockRequests(options: LockRequestsOptions): LockRequests {
  const { url, headers, clientId, roomId, clock, name, expectResponse } = options
  const api = inOneSession(createApi({ url, clientId, headers }))
  const path = `api/documents/${encodeURIComponent(roomId)}`
  const lockPath = `${path}/lock`
  let session: unknown
  /** Two responses in a row were for the same session, so the browser keeps the cookie. */
  let isSessionKept = false
  /** Cuts off the requests that were sent before a withdrawal. */
  let pending = new AbortController()
  let withdrawal: Promise<unknown> | undefined

  return {
    api,

    async acquire(wait, stop, onWaiting) {
      if (wait === 0) return ask(0, stop)
      const giveUpAt = clock.monotonic() + wait
      let isWaiting = false
      for (let failure: LeaseError | undefined; ; ) {
        const sentAt = clock.monotonic()
        const left = giveUpAt - sentAt
        if (left < 1 && failure) throw failure
        if (left < 1) return null
        try {
          const grant = await ask(isWaiting ? Math.min(left, LONGEST_WAIT_MS) : 0, stop)
          // The deadline counts from when a request was sent, and this one has waited: another one renews the lease.
          const renewed = grant && isWaiting && !stop.aborted ? await ask(0, stop) : grant
          if (renewed) return renewed
          failure = undefined
          if (!isWaiting) {
            isWaiting = true
            onWaiting?.()
            continue
          }
        } catch (error) {
          failure = asLeaseError(error)
          if (stop.aborted || !failure.retryable) throw failure
        }
        stop.throwIfAborted()
        // A server that is down, or lets nobody wait, answers at once.
        const rest = sentAt + SHORTEST_WAIT_MS - clock.monotonic()
        if (rest > 0) await pauseUntilAborted(clock, Math.min(left, rest), stop)
      }
    },

    async demand(how, stop) {
      const sent = moment(clock)
      const response = await post(`${lockPath}/${how}`, DECISION_MS, stop)
      if (response.status !== 200) return DECISIONS[String(response.body.error)] ?? 'failed'
      const grant = { lease: leaseOf(response), sent }
      // The decision took a while, and the deadline counts from when the request was sent.
      return stop.aborted ? grant : ((await ask(0, stop)) ?? 'failed')
    },

    async resume() {
      const sent = moment(clock)
      const renewal = await renew()
      return renewal.ok ? { lease: renewal.lease, sent } : null
    },

    renew,

    async release({ id }) {
      const body = { token: Number(id) }
      const response = await api({ method: 'POST', path: `${lockPath}/release`, body, keepalive: true })
      // 403 and 409: another tab, or a later grant, has the lock. This lease has ended before.
      if (![403, 409].includes(response.status)) expectSuccess(response)
      return { ended: { state: 'released' } }
    },

    async withdraw() {
      const sent = pending
      pending = new AbortController()
      withdrawal = api({ method: 'DELETE', path: lockPath, keepalive: true })
      await withdrawal
      // Not at once: a request that arrives at the server late may still be granted, and somebody must see that.
      clock.setTimer(() => sent.abort(), CUT_OFF_MS, true)
    },

    read,

    async load() {
      const response = await api({ method: 'GET', path })
      const { content, token, saved_at } = expectShape(response, response.body.token === null ? {} : SAVED)
      return { content, token: token as number | null, savedAt: saved_at as string | null }
    },

    async save(content, token) {
      checkJson(content)
      const response = await api({ method: 'PUT', path, body: { content, token }, keepalive: true })
      if (response.status === 409)
        throw new LeaseError('stale-token', 'not saved: another tab had the lock since')
      expectSuccess(response)
    },

    async answer(requestId, granted) {
      const body = { request_id: requestId, granted }
      expectSuccess(await api({ method: 'POST', path: `${lockPath}/request/answer`, body }))
    },
  }

  async function ask(wait: number, stop: AbortSignal): Promise<Grant | null> {
    const sent = moment(clock)
    const query = wait > 0 ? `?wait=${Math.ceil(wait) / 1000}` : ''
    const response = await post(lockPath + query, wait + RESPONSE_MS, stop)
    return response.status === 409 ? null : { lease: leaseOf(response), sent }
  }

  /** If every response has another session, a lock could neither be renewed nor released, so none is requested. */
  async function post(path: string, limit: number, stop: AbortSignal): Promise<ApiResponse> {
    // A withdrawal that arrives later would end what this request is granted.
    await withdrawal?.catch(() => {})
    // The session may change once: another tab got its cookie at the same time, or somebody signed in.
    for (let reads = 0; !isSessionKept; reads++) {
      if (reads > 1) throw new LeaseError('store-failed', NO_SESSION)
      await read()
    }
    stop.throwIfAborted()
    return observed({ method: 'POST', path, body: { name: name() }, limit, signal: pending.signal })
  }

  async function read(): Promise<void> {
    const { you } = expectShape(await observed({ method: 'GET', path: lockPath }), LOCK)
    const { session_id }: Body = Object(you)
    isSessionKept = session_id !== undefined && session_id === session
    session = session_id
  }

  async function renew(): Promise<Renewal> {
    const response = await observed({ method: 'PUT', path: lockPath, body: {} })
    // There is no lock, it has expired, another tab has it, or this one may not have it any more.
    const isOver = [403, 404].includes(response.status)
    return isOver ? { ok: false, holders: [] } : { ok: true, lease: leaseOf(response) }
  }

  async function observed(request: ApiRequest): Promise<ApiResponse> {
    const onResponse = expectResponse()
    const response = await api(request)
    onResponse(response)
    return response
  }

  function leaseOf(response: ApiResponse): LeaseRecord {
    const { token, expires_in_ms: remaining } = expectShape(response, HELD)
    // All that is read of it. The server releases by token.
    return { resource: roomId, id: String(token), token, remaining } as LeaseRecord
  }
}

function expectShape<S extends Shape>(response: ApiResponse, shape: S): Body & Shaped<S> {
  const { status, body } = response
  if (status !== 200 || !hasShape(body, shape)) throw unexpected(response)
  return body
}

function expectSuccess(response: ApiResponse): void {
  if (response.status !== 200 || response.body.success !== true) throw unexpected(response)
}

function checkJson(content: unknown): void {
  let text: string | undefined
  try {
    text = JSON.stringify(content)
  } catch {
    // A cycle or a BigInt.
  }
  if (text === undefined) refuse('content', 'a JSON value', content)
}

let turn: Promise<unknown> = Promise.resolve()

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
    const sent = navigator.locks?.request('holdfast:session', send) ?? turn.then(send, send)
    turn = sent
    return sent
  }
}
