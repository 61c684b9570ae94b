/** The part of the worker clock's test that runs in a page. */
import { workerClock } from '../../../src/worker-clock/index.ts'

export const scenarios = {
  /** Hides the page, stops its own timers with `stopOwn`, and returns how long a timer of the clock took. */
  async timerOfHiddenPage(ms: number, stopOwn: boolean) {
    Object.defineProperty(document, 'hidden', { get: () => true })
    document.dispatchEvent(new Event('visibilitychange'))
    if (stopOwn) Object.assign(globalThis, { setTimeout: () => 0 })
    const start = performance.now()
    await new Promise<void>((resolve) => workerClock().setTimer(resolve, ms))
    return performance.now() - start
  },
}

Object.assign(globalThis, { scenarios })
