import type { Clock } from '../core/index.ts'
import type { Answer, Fields } from './api.ts'
import { newsOfAnswer, newsOfEvent } from './news.ts'
import { quietly } from './socket.ts'
import { type DocumentLockAction, INITIAL_STATE, reduce } from './state.ts'

const SOONEST_LOOK_MS = 500

/** Until the server has told its own. */
const DEFAULT_TIMES = { ttl: 30_000, heartbeat: 10_000 }

/**
 * What a tab knows of a room, from answers, events and time. Nobody tells it of another's heartbeats, so what it
 * knows of a holder's end is read again while there is time left.
 */
export class RoomView {
  readonly #clock: Clock
  readonly #ask: () => Promise<void>
  readonly #listeners = new Set<() => void>()
  #state = INITIAL_STATE
  #times = DEFAULT_TIMES
  #heard = 0
  /** The latest grant whose end was heard of. */
  #endedToken = 0
  #failedLooks = 0
  #cancelLook = () => {}
  #cancelRequest = () => {}
  #isClosed = false

  /** `ask` brings an answer about the lock. */
  constructor(clock: Clock, ask: () => Promise<void>) {
    this.#clock = clock
    this.#ask = ask
  }

  get state() {
    return this.#state
  }

  get times() {
    return this.#times
  }

  /** How many events were heard: an answer to an older question may be older than they are. */
  get heard(): number {
    return this.#heard
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  dispatch(action: DocumentLockAction): void {
    this.#state = reduce(this.#state, action)
    for (const listener of this.#listeners) quietly(listener)
  }

  async refresh(): Promise<void> {
    try {
      await this.#ask()
      this.#failedLooks = 0
    } catch {
      this.#failedLooks++
    }
    this.#follow()
  }

  look(answer: Answer, askedAt: number): void {
    const { ttl_ms: ttl, heartbeat_ms: heartbeat } = answer.body
    if (typeof ttl === 'number' && typeof heartbeat === 'number') this.#times = { ttl, heartbeat }
    for (const action of newsOfAnswer(answer, this.#state, this.#clock.now()))
      if (this.#isNews(action, askedAt)) this.dispatch(action)
    this.#follow()
  }

  hear(event: string, data: Fields): void {
    this.#heard++
    for (const action of newsOfEvent(event, data, this.#state, this.#clock.now())) {
      if (action.type === 'holder' && !action.holder)
        this.#endedToken = Math.max(this.#endedToken, Number(data.token) || 0)
      this.dispatch(action)
    }
    this.#endRequestInTime()
    this.#follow()
  }

  close(): void {
    this.#isClosed = true
    this.#cancelLook()
    this.#cancelRequest()
    this.#listeners.clear()
  }

  /** What an answer says of holder and line may be older than what was heard since the question. */
  #isNews(action: DocumentLockAction, askedAt: number): boolean {
    const isLatest = askedAt === this.#heard
    if (action.type === 'holder' && action.holder) {
      const { token } = action.holder
      return token >= (this.#state.holder?.token ?? 0) && (isLatest || token > this.#endedToken)
    }
    return action.type === 'news' || isLatest
  }

  #endRequestInTime(): void {
    this.#cancelRequest()
    const { request } = this.#state
    if (!request) return
    const left = Math.max(0, request.until - this.#clock.now())
    const end = () => this.dispatch({ type: 'news', news: { request: null } })
    this.#cancelRequest = this.#clock.setTimer(end, left, true)
  }

  #follow(): void {
    this.#cancelLook()
    const { holder } = this.#state
    if (this.#isClosed || ((!holder || holder.isMe) && this.#failedLooks === 0)) return
    const left = holder ? holder.expiresAt - this.#clock.now() : 0
    const half = this.#times.ttl / 2
    const soonest = SOONEST_LOOK_MS * 2 ** Math.min(this.#failedLooks, 6)
    const due = Math.max(left > half ? left - half : left, soonest) * (1 + this.#clock.random() / 4)
    this.#cancelLook = this.#clock.setTimer(() => void this.refresh(), due, true)
  }
}
