import { onAbort } from './abort.ts'
import type { Clock } from './clock.ts'
import { LONGEST_RETRY_MS, RETRY_MS } from './options.ts'

/** `background`: it does not keep the process alive. Default false. */
export function pause(
  clock: Clock,
  ms: number,
  options?: { readonly background?: boolean | undefined },
): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(resolve, ms, options?.background))
}

/** A pause that the signal ends early: it then rejects with the signal's reason. */
export function pauseUntilAborted(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(() => {
      unlisten()
      resolve()
    }, ms)
    const unlisten = onAbort(signal, () => {
      cancel()
      reject(signal.reason)
    })
  })
}

/** Milliseconds before retry number `tries`: 50, doubled up to 2 s, ± 20 %. */
export function backoffMs(clock: Clock, tries: number): number {
  return Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** (tries - 1)) * (0.8 + 0.4 * clock.random())
}
