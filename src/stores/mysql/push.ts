/**
 * MySQL cannot push. Instead, procedures leave messages for processes in a table: for waiters their turn, for holders
 * their loss, for watchers every change. Each process that waits, holds or watches looks for its own. It reads them,
 * passes them on, and then deletes them, so an answer that is lost loses nothing.
 */
import { type Clock, systemClock } from '../../base/clock.ts'
import { randomId } from '../../base/random-id.ts'
import type { Answer, Ask, LeaseRecord, ReleaseAsk, StoreEvent } from '../../core/index.ts'
import { LocalListeners } from '../local/listeners.ts'
import { ASK_AGAIN_IN_MS, FETCH_AT_ONCE, HOLDER_POLL_MS, POLL_PART, SOONEST_POLL_MS } from './options.ts'
import type { Queries } from './queries.ts'
import type { Message, Wake } from './rows.ts'
import { ALIVE_FOR, MILLISECOND, WATCH_FOR } from './units.ts'

export interface PushOptions {
  readonly run: <T>(work: (queries: Queries) => Promise<T>) => Promise<T>
  /** How often it looks for messages at least, while somebody waits or watches. */
  readonly pollMs: number
  readonly clock?: Clock | undefined
}

export class Push {
  /** Where the messages for this process are. */
  readonly channel = randomId()
  readonly #options: PushOptions
  readonly #clock: Clock
  readonly #listeners: LocalListeners
  /** Messages that were passed on and may not be deleted yet. */
  #passedOn = new Set<number>()
  #aliveAt = -Infinity
  #watchedAt = -Infinity
  /** Including those that do not hear of changes yet. */
  #watchers = 0
  #unwatching: Promise<void> | undefined
  /** Changes were not announced for a while. Watchers are told when they have all messages from before. */
  #isGapDue = false
  #newsAt = -Infinity
  #isPolling = false
  #closed = false
  /** When it looks next. */
  #pollAt = Infinity
  #cancelTimer: (() => void) | undefined

  constructor(options: PushOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#listeners = new LocalListeners(this.#clock)
  }

  /** Whether this waiter was told that it is its turn, and has not asked since. */
  takeCall(id: string): boolean {
    return this.#listeners.takeCall(id)
  }

  /** Whether this id waits or holds here. */
  has(id: string): boolean {
    return this.#listeners.has(id)
  }

  /** Whether somebody here waits for this resource or holds it. */
  isUsed(resource: string): boolean {
    return this.#listeners.isUsed(resource)
  }

  /** Call it before the request is sent: its turn or its loss may be known before the answer. */
  expect(ask: Ask): void {
    this.#listeners.expect(ask)
  }

  answered(ask: Ask, answer: Answer): void {
    if (answer.granted) this.#listeners.granted(answer.lease)
    else this.#listeners.refused(ask.id, answer.place !== null)
    if (!answer.granted) this.#newsAt = this.#clock.monotonic()
    this.#pollLater()
  }

  failed(id: string): void {
    this.#listeners.failed(id)
  }

  renewed(lease: LeaseRecord): void {
    this.#listeners.renewed(lease)
  }

  /** Returns the lease that it held. */
  forget(id: string): LeaseRecord | null {
    return this.#listeners.forget(id)
  }

  /** The lease that this id holds here. */
  leaseOf(id: string): LeaseRecord | null {
    return this.#listeners.leaseOf(id)
  }

  /** `by`: the release whose answer this was. */
  wake(by: ReleaseAsk, wakes: readonly Wake[]): void {
    for (const { id, inMs } of wakes) if (!('id' in by) || by.id !== id) this.#listeners.wake(id, inMs)
  }

  /** The answer of a release was lost, and with it whose turn it is. Those who wait here ask again. */
  unsure(resource: string): void {
    for (const waiter of this.#listeners.waiting())
      if (waiter.resource === resource) this.#listeners.wake(waiter.id, ASK_AGAIN_IN_MS)
  }

  async watch(on: (event: StoreEvent) => void, prefix: string): Promise<AsyncDisposable> {
    this.#watchers++
    try {
      await this.#unwatching
      // Also while another watches: this one must hear of every change from now on.
      await this.#hear(true)
    } catch (error) {
      this.#watchers--
      throw error
    }
    const watch = this.#listeners.watch(on, prefix)
    this.#pollLater()
    let isOver = false
    return {
      [Symbol.asyncDispose]: async () => {
        if (isOver) return
        isOver = true
        await watch[Symbol.asyncDispose]()
        if (--this.#watchers === 0) await this.#unwatch()
      },
    }
  }

  /** No more messages are written for this process. If that fails, they are written until its watch runs out. */
  #unwatch(): Promise<void> {
    this.#watchedAt = -Infinity
    this.#unwatching = this.#options.run((queries) => queries.unwatch(this.channel)).catch(() => {})
    return this.#unwatching
  }

  close(): void {
    this.#closed = true
    this.#cancelTimer?.()
    this.#listeners.clear()
  }

  #pollLater(): void {
    if (this.#closed || this.#isPolling || !this.#listeners.isNeeded) return
    const isUrgent = this.#listeners.isWatched || this.#listeners.hasWaiters
    const ms = isUrgent ? this.#urgentPollMs() : HOLDER_POLL_MS
    const at = this.#clock.monotonic() + ms
    // A stream of answers must not postpone it: the process would be taken for dead, and lose its places.
    if (this.#pollAt <= at) return
    this.#cancelTimer?.()
    this.#pollAt = at
    this.#cancelTimer = this.#clock.setTimer(() => void this.#poll(), ms, true)
  }

  #urgentPollMs(): number {
    const silence = this.#clock.monotonic() - this.#newsAt
    return Math.min(Math.max(SOONEST_POLL_MS, silence * POLL_PART), this.#options.pollMs)
  }

  async #poll(): Promise<void> {
    this.#pollAt = Infinity
    this.#isPolling = true
    try {
      await this.#stayRegistered()
      await this.#fetch()
    } catch {
      // The next poll tries again. Messages are kept until they are deleted here.
    }
    this.#isPolling = false
    this.#pollLater()
  }

  async #stayRegistered(): Promise<void> {
    const now = this.#clock.monotonic()
    const isWatchDue = this.#listeners.isWatched && now - this.#watchedAt > WATCH_FOR / MILLISECOND / 3
    const isWaitDue = this.#listeners.hasWaiters && now - this.#aliveAt > ALIVE_FOR / MILLISECOND / 3
    if (isWatchDue || isWaitDue) await this.#hear(isWatchDue)
  }

  async #hear(watches: boolean): Promise<void> {
    const at = this.#clock.monotonic()
    const { wasGone, lapsed } = await this.#options.run((queries) => queries.hear(this.channel, watches))
    this.#aliveAt = at
    // They may have lost their places.
    if (wasGone) for (const { id } of this.#listeners.waiting()) this.#listeners.wake(id, ASK_AGAIN_IN_MS)
    if (!watches) return
    this.#watchedAt = at
    // A first watcher has missed nothing: it is added after this.
    if (lapsed && this.#listeners.isWatched) this.#isGapDue = true
  }

  /**
   * A process that stood still finds many messages. A listener that reads the leases again after a gap must have heard of all
   * of them before: a lease that has ended would be taken for an old one beside its successor, and not be reported.
   */
  async #fetch(): Promise<void> {
    while (await this.#fetchSome()) {}
    if (!this.#isGapDue) return
    this.#isGapDue = false
    this.#listeners.tellGap()
  }

  /** Whether there may be more. */
  async #fetchSome(): Promise<boolean> {
    const { run } = this.#options
    const found = await run((queries) => queries.fetch(this.channel, FETCH_AT_ONCE))
    if (found.length === 0 || this.#closed) return false
    this.#newsAt = this.#clock.monotonic()
    for (const message of found) {
      if (this.#passedOn.has(message.seq)) continue
      this.#passedOn.add(message.seq)
      this.#passOn(message)
    }
    const seqs = found.map(({ seq }) => seq)
    await run((queries) => queries.discard(seqs))
    this.#passedOn = new Set()
    return found.length === FETCH_AT_ONCE
  }

  #passOn(message: Message): void {
    if (message.kind === 'change') this.#listeners.tellChange(message.lease)
    else if (message.kind === 'lost') this.#listeners.ended(message.id, message.token)
    else {
      const { resource, id, inMs } = message
      this.#listeners.wake(id, inMs)
      // Nobody waits for the answer any more, but the request arrived, perhaps long after it was sent.
      if (inMs === 0 && !this.#listeners.has(id))
        this.#options.run((queries) => queries.abandon(resource, id)).catch(() => {})
    }
  }
}
