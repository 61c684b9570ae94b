import type { Clock, LeaseError } from '../core/index.ts'
import type { Grant, LockCalls } from './lock-calls.ts'

/** How long one request waits at the server. Proxies end longer ones. */
const ASK_MS = 25_000
const SOONEST_ASK_MS = 1000

export interface LineOptions {
  readonly calls: LockCalls
  readonly clock: Clock
  /** Milliseconds; `Infinity` never gives up. */
  readonly wait: number
  readonly stop: AbortSignal
}

/**
 * Stands in the server's line, which keeps the place of one who asks again at once. A grant that was long in coming
 * is claimed by a question of its own, since a deadline is counted from the question. `null`: the wait is over.
 */
export async function standInLine({ calls, clock, wait, stop }: LineOptions): Promise<Grant | null> {
  const giveUpAt = clock.monotonic() + wait
  for (;;) {
    const asked = clock.monotonic()
    const left = giveUpAt - asked
    if (left < 1) return null
    try {
      const isTurn = await calls.ask(Math.min(left, ASK_MS), stop)
      const grant = isTurn && (await calls.ask(0))
      if (grant) return grant
    } catch (error) {
      stop.throwIfAborted()
      if (!(error as LeaseError).retryable) throw error
    }
    // A server that is down, or that lets nobody wait, answers at once.
    const soonest = asked + SOONEST_ASK_MS - clock.monotonic()
    if (soonest > 0) await pause(clock, Math.min(left, soonest), stop)
  }
}

/** Rejects when the signal aborts; nobody else sets its `onabort`. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(resolve, ms)
    const onAbort = () => {
      cancel()
      reject(signal.reason)
    }
    signal.onabort = onAbort
    if (signal.aborted) onAbort()
  })
}
