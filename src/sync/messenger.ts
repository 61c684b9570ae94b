/** The port that carries messages between contexts, and a request that waits a limited time for its answer. */
import { onAbort } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'

/** Returns an answer or a promise of one, or `undefined` for a message that it does not know. */
export type MessageListener = (message: unknown) => unknown

/**
 * Carries messages to all other contexts, never to its own. A message may arrive late, twice, in another order or
 * not at all.
 */
export interface Messenger {
  /** Resolves with the first answer, or with `undefined` if there is no receiver. It may also hang until `signal` aborts. */
  send(message: unknown, signal: AbortSignal): Promise<unknown>
  subscribe(listener: MessageListener): () => void
}

export interface RequestOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export const TIMED_OUT = Symbol('timed out')

/**
 * The answer to a message, `undefined` if there is no receiver, or `TIMED_OUT`, also after an abort. It never rejects
 * and never hangs.
 */
export async function request(
  messenger: Messenger,
  message: unknown,
  { clock, timeoutMs, signal }: RequestOptions,
): Promise<unknown> {
  const limit = new AbortController()
  const stop = () => limit.abort()
  const timedOut = new Promise((resolve) => onAbort(limit.signal, () => resolve(TIMED_OUT)))
  const cancel = clock.setTimer(stop, timeoutMs)
  const unlisten = onAbort(signal, stop)
  try {
    return await Promise.race([messenger.send(message, limit.signal), timedOut])
  } catch {
    return undefined
  } finally {
    cancel()
    unlisten()
    stop()
  }
}
