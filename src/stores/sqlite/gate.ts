import { type Clock, LeaseError } from '../../core/index.ts'
import { closedError, isBusy, toLeaseError } from './errors.ts'

/** Less than the five seconds for which a manager waits for an answer. */
const PATIENCE_MS = 4000
const LONGEST_PAUSE_MS = 20
/** So that a long line does not stop the event loop when the lock comes free. */
const TURNS_AT_ONCE = 100

interface Turn {
  /** Throws only if the database is busy and the turn is not over. */
  take(): void
  refuse(error: LeaseError): void
}

/**
 * Runs what needs the database: at once if it can. While another process has the lock, calls stand in line here,
 * and only the first knocks, by a timer: SQLite itself would wait by stopping the event loop.
 */
export class Gate {
  readonly #clock: Clock
  readonly #name: string
  readonly #line: Turn[] = []
  #knocks = 0
  #cancelTimer: (() => void) | undefined
  #closed = false

  constructor(clock: Clock, name: string) {
    this.#clock = clock
    this.#name = name
  }

  /** For writers, in the order in which they come. */
  run<T>(work: () => T, signal?: AbortSignal): Promise<T> {
    return this.#line.length > 0 ? this.#stand(work, signal) : this.pass(work, signal)
  }

  /** For readers, whom a writer elsewhere does not keep out. */
  pass<T>(work: () => T, signal?: AbortSignal): Promise<T> {
    if (this.#closed) return Promise.reject(closedError())
    if (signal?.aborted) return Promise.reject(abortedError(signal))
    try {
      return Promise.resolve(work())
    } catch (error) {
      return isBusy(error) ? this.#stand(work, signal) : Promise.reject(toLeaseError(error, this.#name))
    }
  }

  close(): void {
    this.#closed = true
    this.#cancelTimer?.()
    for (const turn of this.#line.splice(0)) turn.refuse(closedError())
  }

  #stand<T>(work: () => T, signal: AbortSignal | undefined): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const giveUpAt = this.#clock.monotonic() + PATIENCE_MS
    const take = () => {
      if (signal?.aborted) return
      try {
        resolve(work())
      } catch (error) {
        if (isBusy(error) && this.#clock.monotonic() < giveUpAt) throw error
        reject(toLeaseError(error, this.#name))
      }
    }
    this.#line.push({ take, refuse: reject })
    this.#knockLater()
    return orAborted(promise, signal)
  }

  #knockLater(): void {
    const pause = Math.min(2 ** this.#knocks, LONGEST_PAUSE_MS) * (0.5 + this.#clock.random() / 2)
    this.#cancelTimer ??= this.#clock.setTimer(() => this.#knock(), pause)
  }

  #knock(): void {
    this.#cancelTimer = undefined
    this.#knocks++
    for (let turns = 0; turns < TURNS_AT_ONCE && this.#line[0]; turns++) {
      try {
        this.#line[0].take()
      } catch {
        break
      }
      this.#line.shift()
      this.#knocks = 0
    }
    if (this.#line.length > 0) this.#knockLater()
  }
}

/** Ends with the work, or when the signal aborts. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(abortedError(signal))
    const done = () => signal.removeEventListener('abort', onAbort)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    work.then(resolve, reject).then(done, done)
  })
}

function abortedError(signal: AbortSignal): LeaseError {
  return new LeaseError('aborted', 'the call was aborted', { cause: signal.reason })
}
