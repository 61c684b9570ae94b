import { type Clock, systemClock } from '../src/core/index.ts'

const LONGEST_TIMER_MS = 1000

/**
 * A clock whose longer timers never fire. A waiter that uses it does not look again after seconds: it is told of a change
 * or it waits for ever.
 */
export const pushOnlyClock: Clock = {
  ...systemClock,
  setTimer: (run, ms, background) =>
    ms < LONGEST_TIMER_MS ? systemClock.setTimer(run, ms, background) : () => {},
}
