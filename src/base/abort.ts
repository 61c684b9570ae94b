import type { LeaseError } from './errors.ts'

/** Calls `run` when the signal aborts, at once if it has aborted. Returns a function that stops listening. */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (signal?.aborted) run()
  else signal?.addEventListener('abort', run)
  return () => signal?.removeEventListener('abort', run)
}

/** The result of the work, or the reason of the signal if that aborts first. The work itself continues. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  return new Promise<T>((resolve, reject) => {
    const unlisten = onAbort(signal, () => reject(signal.reason))
    work.then(resolve, reject).then(unlisten)
  })
}

/** Why somebody should stop waiting. An `AbortController` is created only if somebody reads `signal`. */
export class Stop {
  /** How long one call to a store may take, in milliseconds. */
  declare readonly timeout: number | undefined
  /** Set by a store that limits the call itself. */
  declare limited: boolean | undefined
  #reason: LeaseError | undefined
  #listener: ((reason: LeaseError) => void) | undefined
  #controller: AbortController | undefined

  constructor(timeout?: number) {
    this.timeout = timeout
  }

  get reason(): LeaseError | undefined {
    return this.#reason
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.reason) this.#controller.abort(this.reason)
    return this.#controller.signal
  }

  abort(reason: LeaseError): void {
    this.#reason ??= reason
    this.#controller?.abort(this.#reason)
    this.#listener?.(this.#reason)
  }

  /** One listener at a time: the next one replaces it. */
  listen(listener: (reason: LeaseError) => void): void {
    this.#listener = listener
    if (this.reason) listener(this.reason)
  }

  throwIfAborted(): void {
    if (this.reason) throw this.reason
  }
}
