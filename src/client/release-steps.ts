import type { Clock } from '../base/clock.ts'
import { pause } from '../base/pause.ts'
import { STEP_LIMIT_MS } from './rare-options.ts'

/** What happens before the lock is given up, such as a last save. */
export interface ReleaseStep {
  readonly work: () => unknown
}

/**
 * Starts the steps at once. `undefined`: all are done, so that the caller may go on without a pause. What a step
 * throws is its own problem: the lock is released anyway.
 */
export function runSteps(steps: Iterable<ReleaseStep>, clock: Clock): Promise<unknown> | undefined {
  const open: PromiseLike<unknown>[] = []
  for (const { work } of steps) {
    try {
      const result = work()
      if ('then' in Object(result)) open.push(result as PromiseLike<unknown>)
    } catch {
      // It had its chance.
    }
  }
  if (open.length === 0) return undefined
  return Promise.race([Promise.allSettled(open), pause(clock, STEP_LIMIT_MS, { background: true })])
}
