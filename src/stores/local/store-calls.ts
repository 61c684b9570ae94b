import type { Stop } from '../../base/abort.ts'
import { settledWithin } from '../../base/answer-within.ts'
import { expectWhole } from '../../base/arguments.ts'
import { LeaseError } from '../../base/errors.ts'
import { CALL_TIMEOUT_MS } from '../../base/options.ts'
import type {
  Answer,
  Ask,
  CallOptions,
  Grant,
  Refusal,
  ReleaseAsk,
  Released,
  StoreLoad,
} from '../../core/index.ts'
import { Calls, type CallsOptions, type Work } from './calls.ts'
import { CHECK_QUEUED_EVERY_MS, LOST_AFTER_MS, RELEASE_LIMIT_MS, REQUEST_LIMIT_MS } from './options.ts'
import { RenewalQueue } from './renewal-queue.ts'

/** Nothing is kept for a request of a group that was not granted. */
const NOT_GRANTED: Refusal = { granted: false, holders: [], place: null, retryIn: null }

/**
 * Whether later calls for the same resource may overtake an acquire request on its way.
 *
 * - `kept`: they cannot, or it does not matter.
 * - `awaited`: a release could. It is sent when the request was answered.
 * - `in-turn`: also another acquire request could. So these requests are sent one after the other.
 */
export type RequestOrder = 'kept' | 'awaited' | 'in-turn'

/** What the calls of a lease store need to know. */
export interface StoreCallsOptions extends CallsOptions {
  /** How many acquire requests may be in flight. Default: no limit. */
  readonly maxInFlight?: number | undefined
  /** Whether it is the turn of this waiter. Its request is sent at once: the resource is reserved for a second only. */
  readonly isCalled?: ((id: string) => boolean) | undefined
  /** The work of a release, for what a request is granted while the store closes. */
  readonly release?: ((by: ReleaseOfId) => Work<Released>) | undefined
  /** Which later calls for the same resource could overtake this request. Default: `kept`. */
  readonly order?: ((ask: Ask) => RequestOrder) | undefined
}

export interface ReleaseOfId {
  readonly resource: string
  readonly id: string
}

/** An acquire request that was sent and has not ended, by its id. */
interface Sent {
  readonly at: number
  /** The release of the same id, if it was called meanwhile. */
  release: OvertakingRelease | undefined
}

interface OvertakingRelease {
  readonly work: Work<Released>
  /** The request has ended. Gets the outcome of the release that followed, if there had to be one. */
  readonly repeated: PromiseWithResolvers<Released | null>
}

/** By resource. */
type LastAnswers = Map<string, Promise<unknown>>

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
 * are sent again, and delay every renewal. Renewals wait only for other renewals. Releases, the request of a waiter whose
 * turn it is, and all other calls are never queued here.
 *
 * The release of an id may overtake a slow acquire request of that id, on another connection of a pool. What such a
 * request is granted after all, a lease or a place in the queue, is released again, and the release ends after that.
 * What a request is granted while the store closes is released, too.
 *
 * Otherwise the calls for one resource keep their order, as far as the option `order` says that it needs care: a release
 * is sent after the requests that are in flight. It does not wait for those that are queued, nor for those that will wait
 * for the lease and are still to be sent in turn: a hundred callers that join the queue would otherwise delay the handoff
 * to the first of them.
 */
export class StoreCalls extends Calls {
  readonly #maxInFlight: number
  readonly #isCalled: (id: string) => boolean
  readonly #releaseOf: StoreCallsOptions['release']
  readonly #orderOf: (ask: Ask) => RequestOrder
  /** By resource: the answer to the last acquire request that others could overtake, also if it still has to be sent. */
  readonly #last: LastAnswers = new Map()
  /** The same, of those that were sent. */
  readonly #lastSent: LastAnswers = new Map()
  /** The same, of those that are refused while the resource is held, because they do not wait. */
  readonly #lastNotWaiting: LastAnswers = new Map()
  readonly #sent = new Map<string, Sent>()
  #queue: Queued[] = []
  readonly #queuedById = new Map<string, Queued>()
  readonly #renewals = new RenewalQueue(this.clock)
  #isSending = false
  #answeredAt = -Infinity
  #cancelCheck: (() => void) | undefined

  constructor(storeOptions: StoreCallsOptions) {
    const { maxInFlight = Infinity, isCalled = () => false, release, order, ...options } = storeOptions
    super(options)
    this.#isCalled = isCalled
    this.#releaseOf = release
    this.#orderOf = order ?? (() => 'kept')
    if (maxInFlight !== Infinity) expectWhole('maxInFlight', maxInFlight, 1)
    this.#maxInFlight = maxInFlight
  }

  get load(): StoreLoad {
    return { inFlight: this.#sent.size, queued: this.#queue.length, callTime: this.meanMs }
  }

  acquire(ask: Ask, work: Work<Answer>, call?: CallOptions): Promise<Answer> {
    const earlier = this.#sent.get(ask.id)
    // This request wants what the earlier one is granted.
    earlier?.release?.repeated.resolve(null)
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

  /** Requests that are sent as one. Not while others wait until they may be sent: then the answer is `null`. */
  acquireAll(
    asks: readonly Ask[],
    work: Work<readonly Grant[] | null>,
    call?: CallOptions,
  ): Promise<readonly Grant[] | null> {
    if (this.#queue.length > 0 || this.#sent.size >= this.#maxInFlight) return Promise.resolve(null)
    const at = this.clock.monotonic()
    const all = asks.map((ask) => ({ ask, sent: { at, release: undefined } }))
    for (const { ask, sent } of all) this.#sent.set(ask.id, sent)
    return this.follow(work, {
      call,
      resource: asks[0]?.resource,
      atClose: 'await',
      ended: (grants, isGone) => {
        for (const [n, { ask, sent }] of all.entries())
          this.#ended(ask, sent, grants === null ? NOT_GRANTED : grants?.[n], isGone)
      },
    })
  }

  renew<T>(work: Work<T>, call?: CallOptions, resource?: string): Promise<T> {
    return this.#renewals.run(work, (inLine) => this.run(inLine, call, resource))
  }

  release(by: ReleaseAsk, work: Work<Released>, call?: CallOptions): Promise<Released> {
    const sent = 'id' in by ? this.#sent.get(by.id) : undefined
    if ('id' in by) this.#queuedById.get(by.id)?.stop.abort(new LeaseError('aborted', 'the id was released'))
    const { resource } = by
    const before = [this.#lastSent, this.#lastNotWaiting].flatMap((last) => last.get(resource) ?? [])
    const inOrder: Work<Released> =
      before.length > 0
        ? (stop) =>
            settledWithin(Promise.allSettled(before), RELEASE_LIMIT_MS, this.clock).then(() => work(stop))
        : work
    return this.follow(sent ? overtaking(sent, work) : inOrder, { call, resource, atClose: 'finish' })
  }

  override close(): Promise<void> {
    this.#cancelCheck?.()
    const closing = super.close()
    this.#dropIf(() => true)
    return closing
  }

  #send(ask: Ask, work: Work<Answer>, call?: CallOptions): Promise<Answer> {
    const { id, resource } = ask
    const sent: Sent = { at: this.clock.monotonic(), release: undefined }
    this.#sent.set(id, sent)
    const inOrder: Work<Answer> = (stop) =>
      this.#inOrder(ask, this.#orderOf(ask), () => {
        stop.throwIfAborted()
        return work(stop)
      })
    return this.follow(inOrder, {
      call,
      resource,
      atClose: 'await',
      ended: (answer, isGone) => this.#ended(ask, sent, answer, isGone),
    })
  }

  /** A request that finds no other under way is sent at once. */
  #inOrder<T>({ resource, wake }: Ask, order: RequestOrder, send: () => T | Promise<T>): T | Promise<T> {
    if (order === 'kept') return send()
    const sendNow = () => keepLast(this.#lastSent, resource, send())
    if (order === 'awaited') return sendNow()
    const before = this.#last.get(resource)
    const answer = before ? settledWithin(before, REQUEST_LIMIT_MS, this.clock).then(sendNow) : sendNow()
    if (!wake) keepLast(this.#lastNotWaiting, resource, answer)
    return keepLast(this.#last, resource, answer)
  }

  #ended({ id, resource }: Ask, sent: Sent, answer: Answer | undefined, isGone: boolean): void {
    if (this.#sent.get(id) === sent) this.#sent.delete(id)
    const { release } = sent
    const work = release?.work ?? (this.isClosing && isGone ? this.#releaseOf?.({ resource, id }) : undefined)
    // A request that failed may have been carried out.
    const mayBeKept = !answer || answer.granted || answer.place !== null
    const repeated = work && mayBeKept ? this.follow(work, { resource, atClose: 'finish' }) : null
    const settled = Promise.resolve(repeated).catch(() => null)
    void settled.then(release?.repeated.resolve)
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
      CHECK_QUEUED_EVERY_MS,
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

/** Keeps the answer in the map until it has come, or until another one takes its place. */
function keepLast<T>(last: LastAnswers, resource: string, answer: T | Promise<T>): T | Promise<T> {
  if (!(answer instanceof Promise)) return answer
  last.set(resource, answer)
  const forget = () => {
    if (last.get(resource) === answer) last.delete(resource)
  }
  answer.then(forget, forget)
  return answer
}

/** Ends when the acquire request has ended too, and nothing is left of what it was granted. */
function overtaking(sent: Sent, work: Work<Released>): Work<Released> {
  const repeated = Promise.withResolvers<Released | null>()
  sent.release?.repeated.resolve(null)
  sent.release = { work, repeated }
  return async (stop) => {
    const released = await work(stop)
    return released.ended ? released : ((await repeated.promise) ?? released)
  }
}
