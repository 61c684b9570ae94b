import type { Stop } from '../../base/abort.ts'
import { CALL_TIMEOUT_MS } from '../../base/answer-within.ts'
import { expectWhole } from '../../base/arguments.ts'
import { LeaseError } from '../../base/errors.ts'
import type { Answer, Ask, CallOptions, ReleaseAsk, Released, StoreLoad } from '../../core/index.ts'
import { Calls, type CallsOptions, type Work } from './calls.ts'

/** How often queued requests are looked at while none of those in flight is answered. */
const CHECK_EVERY_MS = 1000
/** A request that has not ended after this time never will: its client has lost it. */
const LOST_AFTER_MS = 30_000

/** What the calls of a lease store need to know. */
export interface StoreCallsOptions extends CallsOptions {
  /** How many acquire requests may be in flight. Default: no limit. */
  readonly maxInFlight?: number | undefined
  /** Whether it is the turn of this waiter. Its request is sent at once: the resource is reserved for a second only. */
  readonly isCalled?: (id: string) => boolean
}

/** An acquire request that was sent and has not ended, by its id. */
interface Sent {
  readonly at: number
  /** The release of the same id, if it was called meanwhile. */
  release: Work<Released> | undefined
}

/** An acquire request that waits until it may be sent. */
interface Queued {
  readonly ask: Ask
  readonly at: number
  /** How long no request may be answered before it has failed. */
  readonly timeoutMs: number
  /** Why the caller has gone, if it has. */
  readonly stop: Stop
  send(): void
  drop(reason: LeaseError): void
}

/**
 * The calls of one lease store. An acquire request goes one way:
 *
 *     queued ──fewer than `maxInFlight` are in flight, none of them has the same id──▶ in flight ──▶ ended
 *
 * Thousands of requests at once would otherwise fill the queue of the client, where they take longer than a call may,
 * are sent again, and delay every renewal. Renewals, releases, the request of a waiter whose turn it is, and all other
 * calls are never queued here.
 *
 * The release of an id may overtake a slow acquire request of that id, on another connection of a pool. What such a
 * request is granted after all, a lease or a place in the queue, is released again.
 */
export class StoreCalls extends Calls {
  readonly #maxInFlight: number
  readonly #isCalled: (id: string) => boolean
  readonly #sent = new Map<string, Sent>()
  #queue: Queued[] = []
  readonly #queuedById = new Map<string, Queued>()
  #isSending = false
  #answeredAt = -Infinity
  #cancelCheck: (() => void) | undefined

  constructor({ maxInFlight = Infinity, isCalled = () => false, ...options }: StoreCallsOptions) {
    super(options)
    this.#isCalled = isCalled
    if (maxInFlight !== Infinity) expectWhole('maxInFlight', maxInFlight, 1)
    this.#maxInFlight = maxInFlight
  }

  get load(): StoreLoad {
    return { inFlight: this.#sent.size, queued: this.#queue.length, callTime: this.meanMs }
  }

  acquire(ask: Ask, work: Work<Answer>, call?: CallOptions): Promise<Answer> {
    const earlier = this.#sent.get(ask.id)
    // This request wants what the earlier one is granted.
    if (earlier) earlier.release = undefined
    const isRoom = this.#queue.length === 0 && this.#sent.size < this.#maxInFlight
    // In this order: the call counts for one request only.
    const mayBeSent = (this.#isCalled(ask.id) || isRoom) && !earlier
    if (mayBeSent) return this.#send(ask, work, call)
    ask.queued?.(true)
    const queuing = (stop: Stop) =>
      new Promise<Answer>((resolve, drop) => {
        const send = () => {
          ask.queued?.(false)
          resolve(this.#send(ask, work, call))
        }
        const timeoutMs = call?.timeout ?? CALL_TIMEOUT_MS
        this.#enqueue({ ask, at: this.clock.monotonic(), timeoutMs, stop, send, drop })
      })
    return this.scan(queuing, call, ask.resource)
  }

  release(by: ReleaseAsk, work: Work<Released>, call?: CallOptions): Promise<Released> {
    if ('id' in by) {
      const sent = this.#sent.get(by.id)
      if (sent) sent.release = work
      this.#queuedById.get(by.id)?.stop.abort(new LeaseError('aborted', 'the id was released'))
    }
    return this.run(work, call, by.resource)
  }

  override close(): Promise<void> {
    this.#cancelCheck?.()
    const closing = super.close()
    this.#dropIf(() => true)
    return closing
  }

  #send(ask: Ask, work: Work<Answer>, call?: CallOptions): Promise<Answer> {
    const sent: Sent = { at: this.clock.monotonic(), release: undefined }
    this.#sent.set(ask.id, sent)
    return this.run(work, call, ask.resource, (answer) => this.#ended(ask, sent, answer))
  }

  #ended({ id, resource }: Ask, sent: Sent, answer: Answer | undefined): void {
    if (this.#sent.get(id) === sent) this.#sent.delete(id)
    const isKept = answer && (answer.granted || answer.place !== null)
    if (isKept && sent.release) this.run(sent.release, undefined, resource).catch(() => {})
    if (this.#queue.length === 0) return
    this.#answeredAt = this.clock.monotonic()
    this.#sendQueued()
  }

  #enqueue(queued: Queued): void {
    this.#queue.push(queued)
    this.#queuedById.set(queued.ask.id, queued)
    this.#cancelCheck ??= this.#checkLater()
  }

  #sendQueued(): void {
    if (this.#isSending) return
    this.#isSending = true
    const blocked: Queued[] = []
    while (this.#sent.size < this.#maxInFlight) {
      const queued = this.#queue.shift()
      if (!queued) break
      if (!queued.stop.reason && this.#sent.has(queued.ask.id)) {
        blocked.push(queued)
        continue
      }
      this.#queuedById.delete(queued.ask.id)
      if (queued.stop.reason) queued.drop(queued.stop.reason)
      else queued.send()
    }
    this.#queue.unshift(...blocked)
    this.#isSending = false
  }

  #checkLater(): () => void {
    return this.clock.setTimer(
      () => {
        this.#cancelCheck = undefined
        this.#check()
        if (this.#queue.length > 0) this.#cancelCheck = this.#checkLater()
      },
      CHECK_EVERY_MS,
      true,
    )
  }

  #check(): void {
    const now = this.clock.monotonic()
    for (const [id, { at }] of this.#sent) if (now - at >= LOST_AFTER_MS) this.#sent.delete(id)
    this.#sendQueued()
    this.#dropIf(({ at, timeoutMs, stop }) => {
      if (now - Math.max(at, this.#answeredAt) >= timeoutMs) stop.abort(this.silenceError(timeoutMs))
      return stop.reason !== undefined
    })
  }

  #dropIf(isOver: (queued: Queued) => boolean): void {
    const queue = this.#queue
    this.#queue = []
    for (const queued of queue) {
      if (!isOver(queued)) this.#queue.push(queued)
      else {
        this.#queuedById.delete(queued.ask.id)
        // Its caller was rejected with the same reason.
        queued.drop(queued.stop.reason ?? this.closedError())
      }
    }
  }
}
