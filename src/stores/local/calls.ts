import { onAbort, Stop } from '../../base/abort.ts'
import { CALL_TIMEOUT_MS } from '../../base/answer-within.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import { pause } from '../../base/pause.ts'
import type { CallOptions } from '../../core/index.ts'

/** One timer serves all calls: a timer and a listener for each would cost as much as a fast call itself. */
const CHECK_EVERY_MS = 50
/** A timer that is later than this shows that the process was blocked or stopped. That time does not count. */
const BLOCKED_MS = 500
/** How long `close` waits for requests that are under way, unless the store needs longer. */
const CLOSE_LIMIT_MS = 1000
/** How much the latest call counts in the mean duration of a call. */
const LATEST_SHARE = 0.1

/** What the calls of a store need to know. */
export interface CallsOptions {
  /** The name of the backend in messages, such as `Redis`. */
  readonly backend: string
  /** What makes the calls, in messages. Default `store`. */
  readonly kind?: string
  /** Turns whatever the backend threw into a `LeaseError`. */
  readonly explain: (error: unknown, resource?: string) => LeaseError
  readonly clock?: Clock
  /** How long `close` waits for requests that are under way, in milliseconds. Default 1 s. */
  readonly closeLimitMs?: number | undefined
}

/** Work of several steps checks `stop` before each one, so that it writes nothing for a caller that has gone. */
export type Work<T> = (stop: Running) => T | Promise<T>

/** One call that is under way. Aborting it rejects the caller. The request itself continues. */
export class Running extends Stop {
  readonly call: CallOptions | undefined
  /** Monotonic time of its start; `Infinity` while it waits in this process. */
  started: number
  /** How long its caller waits for the answer. */
  readonly limitMs: number
  work: Promise<unknown> | undefined
  /** Its place in the list of all. */
  index = -1

  constructor(call: CallOptions | undefined, started: number, limitMs: number) {
    super()
    this.call = call
    this.started = started
    this.limitMs = limitMs
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

/** The calls of one store. Each ends: with its answer, by the caller's signal, after the limit, or by `close`. */
export class Calls {
  protected readonly clock: Clock
  readonly #backend: string
  readonly #kind: string
  readonly #explain: CallsOptions['explain']
  readonly #closeLimitMs: number
  /** Not a Set: V8 keeps deleted entries of a busy Set alive, and the garbage collector then has twice the work. */
  readonly #running: Running[] = []
  /** Requests that are still under way, though their callers were rejected. */
  readonly #abandoned = new Set<Promise<unknown>>()
  #meanMs: number | null = null
  #cancelCheck: (() => void) | undefined
  #closed = false

  constructor({
    backend,
    kind = 'store',
    explain,
    clock = systemClock,
    closeLimitMs = CLOSE_LIMIT_MS,
  }: CallsOptions) {
    this.#backend = backend
    this.#kind = kind
    this.#explain = explain
    this.clock = clock
    this.#closeLimitMs = closeLimitMs
  }

  /** `ended` is called once, when the request has ended, also if its caller has gone; without an answer if it failed. */
  run<T>(work: Work<T>, call?: CallOptions, resource?: string, ended?: (answer?: T) => void): Promise<T> {
    return this.#run(work, call?.timeout ?? CALL_TIMEOUT_MS, call, resource, ended)
  }

  /** For work that looks at every resource, or that waits in this process: it has no limit. */
  scan<T>(work: Work<T>, call?: CallOptions, resource?: string): Promise<T> {
    return this.#run(work, Infinity, call, resource)
  }

  /** The mean duration of the latest calls with a limit, in milliseconds; `null` before the first one. */
  protected get meanMs(): number | null {
    return this.#meanMs
  }

  /** Rejects all callers at once, and waits a little for the requests that are under way. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancelCheck?.()
    const working = [...this.#abandoned, ...this.#running.map(({ work }) => work)]
    for (const running of [...this.#running]) running.abort(this.closedError())
    if (working.length === 0) return
    const limit = pause(this.clock, this.#closeLimitMs, { background: true })
    await Promise.race([Promise.allSettled(working), limit])
  }

  #run<T>(
    work: Work<T>,
    limitMs: number,
    call?: CallOptions,
    resource?: string,
    ended?: (answer?: T) => void,
  ): Promise<T> {
    if (this.#closed) {
      ended?.()
      return Promise.reject(this.closedError())
    }
    const running = new Running(call, this.clock.monotonic(), limitMs)
    const unlisten = this.#followSignal(call, running)
    let working: T | Promise<T>
    try {
      running.throwIfAborted()
      working = work(running)
    } catch (error) {
      ended?.()
      unlisten?.()
      return Promise.reject(this.#explain(error, resource))
    }
    if (!(working instanceof Promise)) {
      ended?.(working)
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
          ended?.(answer)
          unlisten?.()
          // A caller that has gone must not take the answer for one that it still has to act on.
          if (running.reason) fail(running.reason)
          else resolve(answer)
        },
        (error) => {
          this.#end(running)
          ended?.()
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
    if (running.work) this.#abandoned.delete(running.work)
    if (running.limitMs === Infinity || running.started === Infinity) return
    const ms = this.clock.monotonic() - running.started
    this.#meanMs = this.#meanMs === null ? ms : this.#meanMs + LATEST_SHARE * (ms - this.#meanMs)
  }

  #abandon(running: Running): void {
    this.#remove(running)
    if (running.work) this.#abandoned.add(running.work)
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
    const due = this.clock.monotonic() + CHECK_EVERY_MS
    return this.clock.setTimer(
      () => {
        this.#cancelCheck = undefined
        const now = this.clock.monotonic()
        if (now - due > BLOCKED_MS) for (const running of this.#running) running.started += now - due
        for (const running of [...this.#running]) this.#check(running, now)
        if (this.#running.length > 0) this.#cancelCheck = this.#checkLater()
      },
      CHECK_EVERY_MS,
      true,
    )
  }

  #check(running: Running, now: number): void {
    const { call, started, limitMs } = running
    if (call instanceof Stop && call.reason) running.abort(this.#abortedError(call.reason))
    else if (now >= started + limitMs) running.abort(this.silenceError(limitMs))
  }

  protected silenceError(ms: number): LeaseError {
    return new LeaseError('store-unavailable', `${this.#backend}: no answer within ${ms} ms`)
  }

  #abortedError(cause: unknown): LeaseError {
    return new LeaseError('aborted', `${this.#backend}: the call was aborted`, { cause })
  }

  protected closedError(): LeaseError {
    return new LeaseError('closed', `this ${this.#backend} ${this.#kind} was closed`)
  }
}
