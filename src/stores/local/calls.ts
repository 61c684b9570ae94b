import { onAbort, Stop } from '../../base/abort.ts'
import { CALL_TIMEOUT_MS } from '../../base/answer-within.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import { pause } from '../../base/pause.ts'
import type { CallOptions } from '../../core/index.ts'

/** One timer serves all calls: a timer and a listener for each would cost as much as a fast call itself. */
const CHECK_EVERY_MS = 50
/** How long `close` waits for requests that are under way. */
const CLOSE_LIMIT_MS = 1000

export interface CallsOptions {
  /** The name of the backend in messages, such as `Redis`. */
  readonly backend: string
  /** What makes the calls, in messages. Default `store`. */
  readonly kind?: string
  /** Turns whatever the backend threw into a `LeaseError`. */
  readonly explain: (error: unknown, resource?: string) => LeaseError
  readonly clock?: Clock
}

/** One call that is under way. */
interface Running {
  /** Rejects the caller. The request itself continues. */
  readonly stop: Stop
  readonly call: CallOptions | undefined
  /** How long the caller waits, and the monotonic time at which it is rejected. */
  readonly limitMs: number
  readonly deadline: number
  readonly work: Promise<unknown>
  /** Its place in the list of all. */
  index: number
}

/** The calls of one store. Each ends: with its answer, by the caller's signal, after the limit, or by `close`. */
export class Calls {
  readonly #backend: string
  readonly #kind: string
  readonly #explain: CallsOptions['explain']
  readonly #clock: Clock
  /** Not a Set: V8 keeps deleted entries of a busy Set alive, and the garbage collector then has twice the work. */
  readonly #running: Running[] = []
  /** Requests that are still under way, though their callers were rejected. */
  readonly #abandoned = new Set<Promise<unknown>>()
  #cancelCheck: (() => void) | undefined
  #closed = false

  constructor({ backend, kind = 'store', explain, clock = systemClock }: CallsOptions) {
    this.#backend = backend
    this.#kind = kind
    this.#explain = explain
    this.#clock = clock
  }

  /** Work of several steps checks `stop` before each one, so that it writes nothing for a caller that has gone. */
  run<T>(work: (stop: Stop) => T | Promise<T>, call?: CallOptions, resource?: string): Promise<T> {
    return this.#run(work, call?.timeout ?? CALL_TIMEOUT_MS, call, resource)
  }

  /** For work that looks at every resource: it has no limit. */
  scan<T>(work: (stop: Stop) => Promise<T>, call?: CallOptions): Promise<T> {
    return this.#run(work, Infinity, call)
  }

  async #run<T>(
    work: (stop: Stop) => T | Promise<T>,
    limitMs: number,
    call?: CallOptions,
    resource?: string,
  ): Promise<T> {
    if (this.#closed) throw this.#closedError()
    // Its reason is that of a manager's call at once. The check below rejects the caller.
    const stop = new Stop(call instanceof Stop ? call : undefined)
    const unlisten = this.#followSignal(call, stop)
    stop.throwIfAborted()
    let running: Running | undefined
    try {
      const working = work(stop)
      if (!(working instanceof Promise)) return working
      const deadline = this.#clock.monotonic() + limitMs
      running = { stop, call, limitMs, deadline, work: working, index: this.#running.length }
      this.#running.push(running)
      this.#cancelCheck ??= this.#checkLater()
      return await new Promise<T>((resolve, reject) => {
        stop.listen(reject)
        working.then(resolve, reject)
      })
    } catch (error) {
      throw this.#explain(error, resource)
    } finally {
      if (running) this.#remove(running)
      if (running && stop.reason) this.#abandon(running.work)
      unlisten?.()
    }
  }

  /** Rejects all callers at once, and waits a little for the requests that are under way. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancelCheck?.()
    const working = [...this.#abandoned, ...this.#running.map(({ work }) => work)]
    for (const { stop } of this.#running) stop.abort(this.#closedError())
    if (working.length === 0) return
    const limit = pause(this.#clock, CLOSE_LIMIT_MS, { background: true })
    await Promise.race([Promise.allSettled(working), limit])
  }

  #abandon(work: Promise<unknown>): void {
    this.#abandoned.add(work)
    const forget = () => this.#abandoned.delete(work)
    work.then(forget, forget)
  }

  /** The signal of a manager's call is created when it is read, so it is only read by the check. */
  #followSignal(call: CallOptions | undefined, stop: Stop): (() => void) | undefined {
    if (call instanceof Stop) return undefined
    const signal = call?.signal
    return signal && onAbort(signal, () => stop.abort(this.#abortedError(signal.reason)))
  }

  /** The last call takes its place. */
  #remove({ index }: Running): void {
    const last = this.#running.pop()
    if (!last || last.index === index) return
    last.index = index
    this.#running[index] = last
  }

  #checkLater(): () => void {
    return this.#clock.setTimer(
      () => {
        this.#cancelCheck = undefined
        for (const running of this.#running) this.#check(running)
        if (this.#running.length > 0) this.#cancelCheck = this.#checkLater()
      },
      CHECK_EVERY_MS,
      true,
    )
  }

  #check({ stop, call, limitMs, deadline }: Running): void {
    if (call instanceof Stop && call.reason) stop.abort(this.#abortedError(call.reason))
    if (this.#clock.monotonic() >= deadline)
      stop.abort(new LeaseError('store-unavailable', `${this.#backend}: no answer within ${limitMs} ms`))
  }

  #abortedError(cause: unknown): LeaseError {
    return new LeaseError('aborted', `${this.#backend}: the call was aborted`, { cause })
  }

  #closedError(): LeaseError {
    return new LeaseError('closed', `this ${this.#backend} ${this.#kind} was closed`)
  }
}
