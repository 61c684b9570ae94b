import type { Clock } from '../core/index.ts'
import type { Messenger } from './messenger.ts'

export const TIMED_OUT = Symbol('timed out')

/** The answer to a message, `TIMED_OUT`, or `undefined` when nobody is there. Never rejects, never hangs. */
export async function ask(
  messenger: Messenger,
  message: unknown,
  { clock, ms, signal }: { readonly clock: Clock; readonly ms: number; readonly signal: AbortSignal },
): Promise<unknown> {
  const limit = new AbortController()
  const stop = () => limit.abort()
  const timedOut = new Promise((resolve) => limit.signal.addEventListener('abort', () => resolve(TIMED_OUT)))
  const cancel = clock.setTimer(stop, ms)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  try {
    return await Promise.race([messenger.send(message, limit.signal), timedOut])
  } catch {
    return undefined
  } finally {
    cancel()
    signal.removeEventListener('abort', stop)
    stop()
  }
}

export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => clock.setTimer(resolve, ms))
}
