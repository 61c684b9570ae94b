import { onAbort } from './abort.ts'
import type { Clock } from './clock.ts'

export interface PauseOptions {
  /** Ends the pause early: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Does not keep the process alive. Default false. */
  readonly background?: boolean
}

export function pause(clock: Clock, ms: number, options: PauseOptions = {}): Promise<void> {
  const { signal, background } = options
  return new Promise<void>((resolve, reject) => {
    const cancel = clock.setTimer(
      () => {
        unlisten()
        resolve()
      },
      ms,
      background,
    )
    const unlisten = onAbort(signal, () => {
      cancel()
      reject(signal?.reason)
    })
  })
}

/** Milliseconds before retry number `tries`: 50, doubled up to 2 s, ± 20 %. */
export function backoffMs(clock: Clock, tries: number): number {
  return Math.min(2000, 50 * 2 ** (tries - 1)) * (0.8 + 0.4 * clock.random())
}
