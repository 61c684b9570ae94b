import type { Clock } from '../base/clock.ts'

/** Doubled with every failure in a row, up to 16 times. */
const RETRY_MS = 1000
const MOST_DOUBLINGS = 4

/** How long to wait after this many failures before. Not all tabs try again at the same time. */
export function retryMs(failures: number, clock: Clock): number {
  return RETRY_MS * 2 ** Math.min(failures, MOST_DOUBLINGS) * (1 + clock.random() / 4)
}
