import { randomId } from '../base/random-id.ts'
import { type Clock, LeaseError, type LossReason } from '../core/index.ts'
import { type KeptLease, keepLease } from '../core/keep-lease.ts'
import { workerClock } from '../worker-clock/index.ts'
import { type Api, baseOf, createApi, type Fields, unexpected } from './api.ts'
import type { DocumentLock, DocumentLockOptions, SavedDocument } from './document-lock-types.ts'
import { standInLine } from './line.ts'
import { documentPath, type Grant, type LockCalls, lockCalls } from './lock-calls.ts'
import { endsLease } from './news.ts'
import { inOneSession } from './one-session.ts'
import { followPage } from './page-life.ts'
import { RoomView } from './room-view.ts'
import { Socket, type Subscription } from './socket.ts'
import type { Demand } from './state.ts'

/** How long after we have agreed to hand over its end is no loss. */
const HANDING_OVER_MS = 5000

const DECISIONS: Readonly<Record<string, Demand>> = {
  handover_declined: 'declined',
  handover_unanswered: 'unanswered',
}

/**
 * The lock of one document for one tab: acquire, edit, save; everybody else sees who it is.
 *
 * @example
 * const lock = createDocumentLock({ roomId: 'minutes-42', name: 'Mika' })
 * lock.subscribe(() => render(lock.state))
 * if (await lock.acquire({ wait: 30_000 })) await lock.save(text)
 */
export function createDocumentLock(options: DocumentLockOptions): DocumentLock {
  const { roomId } = options
  if (typeof roomId !== 'string' || roomId === '')
    throw new LeaseError(
      'invalid-argument',
      `roomId: expected a non-empty string, got ${JSON.stringify(roomId)}`,
    )
  return new TabLock(options, baseOf(options.url ?? globalThis.location?.origin))
}

class TabLock implements DocumentLock {
  readonly #path: string
  readonly #clock: Clock
  readonly #api: Api
  readonly #calls: LockCalls
  readonly #view: RoomView
  readonly #unfollow: () => void
  #name: string | undefined
  #socket: Socket | undefined
  #room: Subscription | undefined
  #kept: KeptLease | undefined
  #waiting: AbortController | undefined
  #demanding: AbortController | undefined
  /** Lost to the network or to sleep, not to another: the server may still count it as ours. */
  #resumable = false
  #handingOver = false
  #isClosed = false

  constructor({ roomId, name, headers, clock = workerClock() }: DocumentLockOptions, url: string) {
    this.#path = documentPath(roomId)
    this.#name = name
    this.#clock = clock
    this.#api = inOneSession(createApi({ url, clientId: randomId(), headers }))
    const view = new RoomView(clock, () => this.#calls.look())
    this.#view = view
    this.#calls = lockCalls({
      api: this.#api,
      roomId,
      clock,
      name: () => this.#name,
      onAsk: () => view.heard,
      onAnswer: (answer, askedAt) => {
        view.look(answer, askedAt)
        listen(answer.body)
      },
    })
    /** The first answer tells where the room's events are. */
    const listen = ({ channel, channel_key: key }: Fields) => {
      if (this.#room || this.#isClosed || !channel) return
      this.#socket = new Socket({
        ...{ url, key: String(key), clock, api: this.#api },
        onConnection: (connected) => {
          view.dispatch({ type: 'news', news: { connected } })
          if (connected) void this.#resume()
        },
      })
      this.#room = this.#socket.subscribe({
        name: String(channel),
        onEvent: (event, data) => this.#hear(event, data),
        onGap: () => void view.refresh(),
      })
      // What happened between the first look and the first event.
      this.#room.ready.then(
        () => view.refresh(),
        () => {},
      )
    }
    void view.refresh()
    this.#unfollow = followPage({ onWake: () => this.#wake(), onLeave: () => this.#leave() })
  }

  get state() {
    return this.#view.state
  }

  subscribe(listener: () => void): () => void {
    return this.#view.subscribe(listener)
  }

  rename(name: string | undefined): void {
    this.#name = name
  }

  async acquire({ wait = 0 } = {}): Promise<boolean> {
    if (this.#kept?.lease.held) return true
    if (this.#isClosed) return false
    this.#waiting?.abort()
    const own = new AbortController()
    const stop = own.signal
    this.#waiting = own
    this.#resumable = false
    const { holder } = this.state
    this.#view.dispatch({ type: wait > 0 && holder && !holder.isMe ? 'queued' : 'asked-for' })
    try {
      const calls = this.#calls
      const grant = await (wait > 0 ? standInLine({ calls, clock: this.#clock, wait, stop }) : calls.ask(0))
      if (stop.aborted) return await this.#giveBack(grant)
      if (grant) return this.#keep(grant)
      this.#view.dispatch({ type: 'refused' })
    } catch (error) {
      if (!stop.aborted) this.#view.dispatch({ type: 'failed', error: error as LeaseError })
    } finally {
      if (this.#waiting === own) this.#waiting = undefined
    }
    return false
  }

  async release(): Promise<void> {
    const asking = this.#waiting ?? this.#demanding
    const kept = this.#kept
    this.#kept = undefined
    this.#resumable = false
    this.#waiting?.abort()
    this.#demanding?.abort()
    this.#waiting = undefined
    this.#demanding = undefined
    this.#view.dispatch({ type: 'released' })
    if (asking) await this.#calls.withdraw().catch(() => {})
    await kept?.lease[Symbol.asyncDispose]()
  }

  async load(): Promise<SavedDocument> {
    const answer = await this.#api({ method: 'GET', path: this.#path })
    if (answer.status !== 200) throw unexpected(answer)
    const { content, token, saved_at } = answer.body
    return { content, token: token as number | null, savedAt: saved_at as string | null }
  }

  async save(content: unknown): Promise<void> {
    const { token } = this.state
    if (token === null) throw new LeaseError('lease-lost', 'acquire the lock before you save')
    const body = { content, token }
    const answer = await this.#api({ method: 'PUT', path: this.#path, body, keepalive: true })
    if (answer.status === 409) {
      if (this.#kept?.lease.token === token) this.#kept.end()
      throw new LeaseError('stale-token', 'another has had the lock since; this was not saved')
    }
    if (answer.status !== 200) throw unexpected(answer)
  }

  takeOver(): Promise<boolean> {
    return this.#demand('takeover', 'taking-over')
  }

  requestHandOver(): Promise<boolean> {
    return this.#demand('request', 'asking')
  }

  async answer(granted: boolean): Promise<void> {
    const { request } = this.state
    if (!request) return
    const body = { request_id: request.id, granted }
    this.#handingOver = granted
    try {
      const answer = await this.#api({ method: 'POST', path: `${this.#path}/lock/request/answer`, body })
      if (answer.status !== 200) throw unexpected(answer)
    } catch (error) {
      this.#handingOver = false
      throw error
    }
    this.#view.dispatch({ type: 'news', news: { request: null } })
    this.#clock.setTimer(() => (this.#handingOver = false), HANDING_OVER_MS, true)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#view.close()
    this.#unfollow()
    this.#room?.end()
    await this.release()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** False: the answer was so long on its way that the lock may be over. */
  #keep({ lease, sent }: Grant): boolean {
    if (this.#kept?.lease.held && this.#kept.lease.token === lease.token) return true
    const kept = keepLease(this.#calls, lease, {
      ...this.#view.times,
      ...{ clock: this.#clock, sent },
      onEvent: (event) => {
        if (event.type === 'lost' && this.#kept === kept) this.#onLost(event.reason, event.error)
      },
    })
    this.#kept = kept ?? undefined
    this.#view.dispatch(kept ? { type: 'granted', token: lease.token } : { type: 'refused' })
    return kept !== null
  }

  /** What came when nobody wanted it any more; unless a later question got the same. */
  async #giveBack(grant: Grant | null): Promise<false> {
    const isWanted = this.#waiting || this.#kept
    if (grant && !isWanted) await this.#calls.release(grant.lease).catch(() => {})
    return false
  }

  async #demand(how: 'takeover' | 'request', pending: Demand): Promise<boolean> {
    if (this.#isClosed || this.#demanding) return false
    const own = new AbortController()
    this.#demanding = own
    this.#view.dispatch({ type: 'news', news: { demand: pending } })
    let demand: Demand = 'failed'
    try {
      const answer = await this.#calls.demand(how, own.signal)
      // The answer was long in coming, so its grant is claimed by a question of its own.
      const grant = answer.status === 200 ? await this.#calls.ask(0) : null
      if (own.signal.aborted) return await this.#giveBack(grant)
      if (grant && this.#keep(grant)) {
        this.#waiting?.abort()
        this.#waiting = undefined
        return true
      }
      demand = DECISIONS[String(answer.body.error)] ?? demand
    } catch {
      // As if it had not been asked; the state says that it failed.
    } finally {
      if (this.#demanding === own) this.#demanding = undefined
    }
    if (!own.signal.aborted) this.#view.dispatch({ type: 'news', news: { demand } })
    return false
  }

  #onLost(reason: LossReason, error: LeaseError): void {
    this.#resumable = reason === 'deadline' || reason === 'gave-up'
    this.#view.dispatch(this.#handingOver ? { type: 'released' } : { type: 'lost', error })
    this.#handingOver = false
    void this.#resume()
    void this.#view.refresh()
  }

  #wake(): void {
    this.#socket?.hurry()
    void this.#resume()
    void this.#view.refresh()
  }

  #leave(): void {
    if (!this.#kept?.lease.held) return
    void this.#kept.lease.release().catch(() => {})
    this.#view.dispatch({ type: 'lost', error: null })
  }

  /** Back on the net, or awake: what is held is renewed now, and what the server still counts as ours goes on. */
  async #resume(): Promise<void> {
    if (this.#isClosed) return
    if (this.#kept?.lease.held) await this.#kept.lease.renew().catch(() => {})
    else if (this.#resumable) {
      // Without an answer it is tried again at the next sign of life.
      const grant = await this.#calls.resume().catch(() => undefined)
      if (grant === undefined || !this.#resumable) return
      this.#resumable = false
      if (grant) this.#keep(grant)
    }
  }

  #hear(event: string, data: Fields): void {
    this.#view.hear(event, data)
    if (this.#kept && endsLease(event, data, this.#kept.lease.token)) this.#kept.end()
  }
}
