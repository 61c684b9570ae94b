import { LeaseError, systemClock } from '../../core/index.ts'

/** For callers who set no limit of their own: some clients try for minutes. */
const LIMIT_MS = 5000

/** Sees to it that every call ends: by its answer, by the caller's signal, by the limit, or by `close`. */
export class Calls {
  readonly #kind: string
  readonly #explain: (error: unknown) => LeaseError
  readonly #running = new Set<AbortController>()
  #closed = false

  constructor(kind: string, explain: (error: unknown) => LeaseError) {
    this.#kind = kind
    this.#explain = explain
  }

  /** The work looks at `stop` before each step, so that it writes nothing for a caller who has gone. */
  async run<T>(work: (stop: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#closed) throw this.#closedError()
    const call = new AbortController()
    const onAbort = () =>
      call.abort(new LeaseError('aborted', 'the call was aborted', { cause: signal?.reason }))
    const cancel = systemClock.setTimer(
      () => call.abort(unanswered(`no answer within ${LIMIT_MS} ms`)),
      LIMIT_MS,
    )
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
    this.#running.add(call)
    try {
      call.signal.throwIfAborted()
      return await endedBy(call.signal, work(call.signal))
    } catch (error) {
      throw this.#explain(error)
    } finally {
      cancel()
      signal?.removeEventListener('abort', onAbort)
      this.#running.delete(call)
    }
  }

  close(): void {
    this.#closed = true
    for (const call of this.#running) call.abort(this.#closedError())
  }

  #closedError(): LeaseError {
    return new LeaseError('closed', `this ${this.#kind} store was closed`)
  }
}

function unanswered(why: string): LeaseError {
  return new LeaseError('store-unavailable', `the store did not answer: ${why}`)
}

/** The outcome of the work, unless the signal aborts before: then its reason. The work itself goes on. */
export async function endedBy<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let onAbort = () => {}
  const abortion = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
  })
  try {
    return await Promise.race([work, abortion])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
