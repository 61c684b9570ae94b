import { onAbort, Stop } from '../../base/abort.ts'
import type { AnswerLimit } from '../../base/answer-limit.ts'
import { settledWithin } from '../../base/answer-within.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import { CALL_TIMEOUT_MS } from '../../base/options.ts'
import type { CallOptions } from '../../core/index.ts'
import {
  BLOCKED_MS,
  CHECK_CALLS_EVERY_MS,
  CLOSE_CALLS_LIMIT_MS,
  LATEST_CALL_FRACTION,
  MICROTASKS_TO_RELEASE,
} from './options.ts'

/** What the calls of a store need to know. */
export interface CallsOptions {
  /** The name of the backend in messages, such as `Redis`. */
  readonly backend: string
  /** What makes the calls, in messages. Default `store`. */
  readonly kind?: string | undefined
  /** Turns whatever the backend threw into a `LeaseError`. */
  readonly explain: (error: unknown, resource?: string) => LeaseError
  readonly clock?: Clock | undefined
  /**
   * How long `close` waits for requests that are under way, in milliseconds. Default 1 s. For acquire requests and
   * releases it waits at least 5 s.
   */
  readonly closeLimitMs?: number | undefined
  /** That of the client: a caller may wait longer than others. */
  readonly answerLimit?: AnswerLimit | undefined
}

/** Work of several steps checks `stop` before each one, so that it writes nothing for a caller that has gone. */
export type Work<T> = (stop: Running) => T | Promise<T>

/**
 * What `close` does with a call that is under way:
 *
 * - `reject`: the caller is rejected at once, and the request has a second to end.
 * - `await`: the caller is rejected at once. The request may have been granted something that is then to be released,
 *   so it has as long as a call may take.
 * - `finish`: the caller gets the answer. Such calls are accepted until `close` has ended.
 */
export type AtClose = 'reject' | 'await' | 'finish'

export interface CallPlan<T> {
  readonly call?: CallOptions | undefined
  readonly resource?: string | undefined
  readonly limitMs?: number
  /** Default `reject`. */
  readonly atClose?: AtClose
  /** Called once, when the request has ended, also if its caller has gone; without an answer if it failed. */
  readonly ended?: ((answer: T | undefined, isGone: boolean) => void) | undefined
}

/** One call that is under way. Aborting it rejects the caller. The request itself continues. */
export class Running extends Stop {
  readonly call: CallOptions | undefined
  /** Monotonic time of its start; `Infinity` while it waits in this process. */
  started: number
  /** How long its caller waits for the answer. */
  readonly limitMs: number
  readonly atClose: AtClose
  work: Promise<unknown> | undefined
  /** Its place in the list of all. */
  index = -1

  constructor(call: CallOptions | undefined, started: number, limitMs: number, atClose: AtClose = 'reject') {
    super()
    this.call = call
    this.started = started
    this.limitMs = limitMs
    this.atClose = atClose
  }

  /** The reason of a manager's call counts at once. The check rejects its caller. */
  override get reason(): LeaseError | undefined {
    return super.reason ?? (this.call instanceof Stop ? this.call.reason : undefined)
  }

  /** The request waits in this process. Its time limit counts from when it leaves. */
  hold(): void {
    this.started = Infinity
    this.call?.queued?.(true)
  }

  leave(now: number): void {
    if (this.started !== Infinity) return
    this.started = now
    this.call?.queued?.(false)
  }
}

/**
 * The calls of one store. Each ends: with its answer, by the caller's signal, after the limit, or by `close`.
 *
 * Not `answerWithin`, which starts a timer for each call: here one timer serves all calls that are under way.
 */
export class Calls {
  protected readonly clock: Clock
  readonly #backend: string
  readonly #kind: string
  readonly #explain: CallsOptions['explain']
  readonly #closeLimitMs: number
  readonly #answerLimit: AnswerLimit | undefined
  /** Not a Set: V8 keeps deleted entries of a busy Set alive, and the garbage collector then has twice the work. */
  readonly #running: Running[] = []
  /** Requests that are still under way, though their callers were rejected. */
  readonly #abandoned = new Set<Running>()
  #meanMs: number | null = null
  #cancelCheck: (() => void) | undefined
  #closing: Promise<void> | undefined
  #closed = false

  constructor({
    backend,
    kind = 'store',
    explain,
    clock = systemClock,
    closeLimitMs = CLOSE_CALLS_LIMIT_MS,
    answerLimit,
  }: CallsOptions) {
    this.#backend = backend
    this.#kind = kind
    this.#explain = explain
    this.clock = clock
    this.#closeLimitMs = closeLimitMs
    this.#answerLimit = answerLimit
  }

  run<T>(work: Work<T>, call?: CallOptions, resource?: string): Promise<T> {
    return this.follow(work, { call, resource })
  }

  /** For work that looks at every resource, or that waits in this process: it has no limit. */
  scan<T>(work: Work<T>, call?: CallOptions, resource?: string): Promise<T> {
    return this.follow(work, { call, resource, limitMs: Infinity })
  }

  /** The mean duration of the latest calls with a limit, in milliseconds; `null` before the first one. */
  protected get meanMs(): number | null {
    return this.#meanMs
  }

  /** No more calls are accepted, except those that finish. */
  protected get isClosing(): boolean {
    return this.#closing !== undefined
  }

  /** Rejects the callers at once, except those that release, and waits for the requests that are under way. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const since = this.clock.monotonic()
    const rejected = this.#running.filter(({ atClose }) => atClose !== 'finish')
    for (const running of rejected) running.abort(this.closedError())
    await this.#ended(since + this.#closeLimitMs, () => true)
    await this.#ended(
      since + Math.max(this.#closeLimitMs, CALL_TIMEOUT_MS),
      ({ atClose }) => atClose !== 'reject',
    )
    this.#closed = true
    this.#cancelCheck?.()
    for (const running of [...this.#running]) running.abort(this.closedError())
  }

  /** Waits until no such request is under way, at most until this monotonic time. */
  async #ended(until: number, isAwaited: (running: Running) => boolean): Promise<void> {
    for (;;) {
      for (let n = 0; n < MICROTASKS_TO_RELEASE; n++) await undefined
      const working = [...this.#running, ...this.#abandoned].filter(isAwaited).map(({ work }) => work)
      const left = until - this.clock.monotonic()
      if (working.length === 0 || left <= 0) return
      await settledWithin(Promise.allSettled(working), left, this.clock)
    }
  }

  protected follow<T>(
    work: Work<T>,
    { call, resource, limitMs = call?.timeout ?? CALL_TIMEOUT_MS, atClose = 'reject', ended }: CallPlan<T>,
  ): Promise<T> {
    if (this.#closed || (this.#closing && atClose !== 'finish')) {
      ended?.(undefined, true)
      return Promise.reject(this.closedError())
    }
    if (call && limitMs < Infinity) {
      call.limited = true
      this.#answerLimit?.allow(limitMs)
    }
    const running = new Running(call, this.clock.monotonic(), limitMs, atClose)
    const unlisten = this.#followSignal(call, running)
    let working: T | Promise<T>
    try {
      running.throwIfAborted()
      working = work(running)
    } catch (error) {
      ended?.(undefined, false)
      unlisten?.()
      return Promise.reject(this.#explain(error, resource))
    }
    if (!(working instanceof Promise)) {
      ended?.(working, false)
      unlisten?.()
      return Promise.resolve(working)
    }
    this.#add(running, working)
    return new Promise<T>((resolve, reject) => {
      const fail = (error: unknown) => {
        unlisten?.()
        reject(this.#explain(error, resource))
      }
      running.listen((reason) => {
        this.#abandon(running)
        fail(reason)
      })
      working.then(
        (answer) => {
          this.#end(running)
          ended?.(answer, running.reason !== undefined)
          unlisten?.()
          // A caller that has gone must not take the answer for one that it still has to act on.
          if (running.reason) fail(running.reason)
          else resolve(answer)
        },
        (error) => {
          this.#end(running)
          ended?.(undefined, running.reason !== undefined)
          fail(error)
        },
      )
    })
  }

  /** The signal of a manager's call is created when it is read, so it is only read by the check. */
  #followSignal(call: CallOptions | undefined, running: Running): (() => void) | undefined {
    if (!call || call instanceof Stop) return undefined
    const { signal } = call
    return signal && onAbort(signal, () => running.abort(this.#abortedError(signal.reason)))
  }

  #add(running: Running, working: Promise<unknown>): void {
    running.work = working
    running.index = this.#running.push(running) - 1
    this.#cancelCheck ??= this.#checkLater()
  }

  #end(running: Running): void {
    this.#remove(running)
    this.#abandoned.delete(running)
    if (running.limitMs === Infinity || running.started === Infinity) return
    const ms = this.clock.monotonic() - running.started
    this.#meanMs = this.#meanMs === null ? ms : this.#meanMs + LATEST_CALL_FRACTION * (ms - this.#meanMs)
  }

  #abandon(running: Running): void {
    this.#remove(running)
    this.#abandoned.add(running)
  }

  /** The last call takes its place. */
  #remove(running: Running): void {
    const { index } = running
    if (index < 0) return
    running.index = -1
    const last = this.#running.pop()
    if (!last || last === running) return
    last.index = index
    this.#running[index] = last
  }

  #checkLater(): () => void {
    const due = this.clock.monotonic() + CHECK_CALLS_EVERY_MS
    // It keeps the process alive: the sockets of a client need not do that, and somebody waits for the answer.
    return this.clock.setTimer(() => {
      this.#cancelCheck = undefined
      const now = this.clock.monotonic()
      if (now - due > BLOCKED_MS) for (const running of this.#running) running.started += now - due
      for (const running of [...this.#running]) this.#check(running, now)
      if (this.#running.length > 0) this.#cancelCheck = this.#checkLater()
    }, CHECK_CALLS_EVERY_MS)
  }

  #check(running: Running, now: number): void {
    const { call, started, limitMs } = running
    if (call instanceof Stop && call.reason) running.abort(this.#abortedError(call.reason))
    else if (now >= started + limitMs) running.abort(this.silenceError(limitMs))
  }

  protected silenceError(ms: number): LeaseError {
    return new LeaseError('store-unavailable', `${this.#backend}: no answer within ${Math.ceil(ms)} ms`)
  }

  #abortedError(cause: unknown): LeaseError {
    return new LeaseError('aborted', `${this.#backend}: the call was aborted`, { cause })
  }

  protected closedError(): LeaseError {
    return new LeaseError('closed', `this ${this.#backend} ${this.#kind} was closed`)
  }
}
