import type { Clock } from '../base/clock.ts'
import { MOST_RETRY_DOUBLINGS, RETRY_MS } from './options.ts'

/** How long to wait after this many failures before. Not all tabs try again at the same time. */
export function retryMs(failures: number, clock: Clock): number {
  return RETRY_MS * 2 ** Math.min(failures, MOST_RETRY_DOUBLINGS) * (1 + clock.random() / 4)
}
