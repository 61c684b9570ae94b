import { type Clock, type KeepOptions, type KeptLease, keepLease, LeaseError } from '../core/index.ts'
import { roomChannel } from '../protocol/index.ts'
import { workerClock } from '../worker-clock/index.ts'
import { type Answer, createApi, type Fields, unexpected } from './api.ts'
import { standInLine } from './line.ts'
import { documentPath, type Grant, lockCalls } from './lock-calls.ts'
import { endsLease, newsOfAnswer, newsOfEvent } from './news.ts'
import { followPage } from './page-life.ts'
import { Socket } from './socket.ts'
import { type DocumentLockAction, type DocumentLockState, INITIAL_STATE, reduce } from './state.ts'

export interface DocumentLockOptions {
  /** Where the server is. Default: where the page comes from. */
  readonly url?: string
  readonly roomId: string
  /** What others see of who edits. */
  readonly name?: string
  /** The public key of the server's WebSocket. Default `holdfast`. */
  readonly key?: string
  /** Sent with every request, such as a bearer token. */
  readonly headers?: Readonly<Record<string, string>>
  readonly clock?: Clock
}

export interface SavedDocument {
  readonly content: unknown
  /** Of the save; `null` where nothing was saved yet. */
  readonly token: number | null
  readonly savedAt: string | null
}

export interface DocumentLock extends AsyncDisposable {
  /** What the page shows now. The same object until something changes. */
  readonly state: DocumentLockState
  /** Called after every change of the state. Returns how to stop. */
  subscribe(listener: () => void): () => void
  /**
   * Asks for the lock, and waits in line for `wait` milliseconds (default 0, `Infinity` never gives up). Resolves
   * with whether this tab has it. Rejects only when asking again cannot help.
   */
  acquire(options?: { readonly wait?: number }): Promise<boolean>
  /** Gives the lock, or the place in line, back. */
  release(): Promise<void>
  load(): Promise<SavedDocument>
  /**
   * Saves with the token of the latest grant. Rejects with `stale-token` when another has had the lock since:
   * the content is not saved then, and nothing of the other's is overwritten.
   */
  save(content: unknown): Promise<void>
  /** Takes the lock from its holder, who has a few seconds to save. */
  takeOver(): Promise<boolean>
  /** Asks the holder to hand over. Resolves with whether this tab has the lock when it has answered, or not. */
  requestHandOver(): Promise<boolean>
  /** Answers the request in the state. Save first: with `true` the lock goes to the other. */
  answer(granted: boolean): Promise<void>
  /** Gives everything up and listens no more. */
  close(): Promise<void>
}

const SOONEST_LOOK_MS = 500

/** Until the server has told its own. */
const DEFAULT_TIMES = { ttl: 30_000, heartbeat: 10_000 }

/**
 * The lock of one document for one tab: acquire, edit, save; everybody else sees who it is.
 *
 * @example
 * const lock = createDocumentLock({ roomId: 'minutes-42', name: 'Mika' })
 * lock.subscribe(() => render(lock.state))
 * if (await lock.acquire({ wait: 30_000 })) await lock.save(text)
 */
export function createDocumentLock(options: DocumentLockOptions): DocumentLock {
  const { roomId, name, key = 'holdfast', headers, clock = workerClock() } = options
  const url = options.url ?? globalThis.location?.href
  if (typeof roomId !== 'string' || roomId === '')
    throw new LeaseError('invalid-argument', `roomId: expected a non-empty string, got ${roomId}`)
  if (!URL.canParse(url))
    throw new LeaseError('invalid-argument', `url: expected the address of a Holdfast server, got ${url}`)

  const clientId = crypto.randomUUID()
  const base = new URL(url.endsWith('/') ? url : `${new URL(url).origin}/`).href
  const body = name === undefined ? {} : { name }
  const api = createApi({ url: base, clientId, headers })
  const calls = lockCalls({ api, roomId, body, clock, onAnswer: look })
  const path = documentPath(roomId)
  const listeners = new Set<() => void>()
  let state = INITIAL_STATE
  let times = DEFAULT_TIMES
  let kept: KeptLease | undefined
  let asking: AbortController | undefined
  /** Lost to the network or to sleep, not to another: it is asked for again when we are back. */
  let resumable = false
  /** We agreed to its end. */
  let handedOver = false
  let cancelFollowing = () => {}
  let isClosed = false

  const socket = new Socket({
    url: base,
    key,
    clock,
    authorize: async () => '',
    onConnection(connected) {
      dispatch({ type: 'connected', connected })
      if (connected) void resume()
    },
  })
  const room = socket.subscribe({ name: roomChannel(roomId), onEvent: hear, onGap: () => void refresh() })
  const unfollow = followPage({
    onWake() {
      socket.hurry()
      void resume()
    },
    onLeave() {
      if (!kept?.lease.held) return
      resumable = true
      void kept.lease.release().catch(() => {})
      dispatch({ type: 'lost', error: null })
    },
  })
  const settings = refresh()

  const lock: DocumentLock = {
    get state() {
      return state
    },

    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    async acquire({ wait = 0 } = {}) {
      asking?.abort()
      if (kept?.lease.held) return true
      const ask = new AbortController()
      asking = ask
      resumable = false
      const isTaken = state.holder !== null && !state.holder.isMe
      dispatch(wait > 0 && isTaken ? { type: 'queued' } : { type: 'asked-for' })
      await settings
      try {
        const stop = ask.signal
        const grant = await (wait > 0 ? standInLine({ calls, clock, wait, stop }) : calls.ask(0, stop))
        if (grant) return keep(grant)
        if (asking === ask) dispatch({ type: 'refused' })
        return false
      } catch (error) {
        if (asking === ask && !ask.signal.aborted) dispatch({ type: 'failed', error: error as LeaseError })
        return false
      } finally {
        if (asking === ask) asking = undefined
      }
    },

    async release() {
      resumable = false
      const wanted = asking
      asking = undefined
      wanted?.abort()
      const held = kept
      kept = undefined
      dispatch({ type: 'released' })
      if (wanted) await calls.withdraw().catch(() => {})
      await held?.lease[Symbol.asyncDispose]()
    },

    async load() {
      const answer = await api({ method: 'GET', path })
      if (answer.status !== 200) throw unexpected(answer)
      const { content, token, saved_at } = answer.body
      return { content, token: token as number | null, savedAt: saved_at as string | null }
    },

    async save(content) {
      const { token } = state
      if (token === null)
        throw new LeaseError('lease-lost', 'acquire the lock before you save', { resource: roomId })
      const answer = await api({ method: 'PUT', path, body: { content, token } })
      if (answer.status === 409) {
        kept?.end()
        throw new LeaseError('stale-token', 'another has had the lock since; this was not saved', {
          resource: roomId,
        })
      }
      if (answer.status !== 200) throw unexpected(answer)
    },

    async takeOver() {
      const answer = await api({ method: 'POST', path: `${path}/lock/takeover`, body })
      if (answer.status !== 200) {
        look(answer)
        return false
      }
      return lock.acquire()
    },

    async requestHandOver() {
      dispatch({ type: 'asked' })
      // Answered when the holder has answered, or has not.
      const answer = await api({ method: 'POST', path: `${path}/lock/request`, body }).catch(() => null)
      dispatch({ type: 'answered', granted: answer?.status === 200 })
      return answer?.status === 200 && lock.acquire()
    },

    async answer(granted) {
      const { request } = state
      if (!request) return
      dispatch({ type: 'request', request: null })
      handedOver = granted
      const answer = await api({
        method: 'POST',
        path: `${path}/lock/request/answer`,
        body: { request_id: request.id, granted },
      })
      if (answer.status !== 200) throw unexpected(answer)
    },

    async close() {
      isClosed = true
      cancelFollowing()
      unfollow()
      room.end()
      listeners.clear()
      await lock.release()
    },

    [Symbol.asyncDispose]: () => lock.close(),
  }
  return lock

  function dispatch(action: DocumentLockAction): void {
    const next = reduce(state, action)
    if (next === state) return
    state = next
    for (const listener of listeners) listener()
  }

  /** False: the answer was so long on its way that the lock may be over. */
  function keep({ lease, sent }: Grant): boolean {
    kept = keepLease(calls, lease, { ...times, clock, sent, onEvent }) ?? undefined
    if (kept) dispatch({ type: 'granted', token: lease.token })
    else dispatch({ type: 'refused' })
    return kept !== undefined
  }

  function onEvent(event: Parameters<KeepOptions['onEvent']>[0]): void {
    // What was given back is no loss, whatever the server says of it.
    if (event.type !== 'lost' || !kept) return
    const { reason, error } = event
    resumable = reason === 'deadline' || reason === 'gave-up'
    dispatch(handedOver ? { type: 'released' } : { type: 'lost', error })
    handedOver = false
    void refresh()
  }

  async function refresh(): Promise<void> {
    await calls.look().catch(followHolder)
  }

  /** Nobody tells us of another's heartbeats, so what we know of its end is read again while there is time left. */
  function followHolder(): void {
    cancelFollowing()
    const { holder } = state
    if (isClosed || !holder || holder.isMe) return
    const left = holder.expiresAt - clock.now()
    const due = left > times.ttl / 2 ? left - times.ttl / 2 : left
    cancelFollowing = clock.setTimer(() => void refresh(), Math.max(due, SOONEST_LOOK_MS), true)
  }

  /** Back on the net, or awake: what is held is renewed now, and what was lost meanwhile is asked for again. */
  async function resume(): Promise<void> {
    if (kept?.lease.held) await kept.lease.renew().catch(() => {})
    else if (resumable && state.phase === 'lost') await lock.acquire()
    else await refresh()
  }

  function look(answer: Answer): void {
    const { ttl_ms: ttl, heartbeat_ms: heartbeat } = answer.body
    if (typeof ttl === 'number' && typeof heartbeat === 'number') times = { ttl, heartbeat }
    for (const action of newsOfAnswer(answer, state, clock.now())) dispatch(action)
    followHolder()
  }

  function hear(event: string, data: Fields): void {
    for (const action of newsOfEvent(event, data, state, clock.now())) dispatch(action)
    if (kept && endsLease(event, data, kept.lease.token)) kept.end()
    followHolder()
  }
}
