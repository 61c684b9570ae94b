import { expectMethods } from './arguments.ts'

/** All time and randomness that Holdfast uses, so that a test or a simulation can control them. */
export interface Clock {
  /** Wall time, milliseconds since 1970. May jump. */
  now(): number
  /** Milliseconds since some moment. Never goes back. May stop while the machine sleeps. */
  monotonic(): number
  /** Runs once after `ms`. A background timer does not keep the process alive. Returns a function that cancels it. */
  setTimer(run: () => void, ms: number, background?: boolean): () => void
  /** From 0 up to, not including, 1. */
  random(): number
}

/** The longest delay of a JavaScript timer: a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  setTimer(run, ms, background) {
    const timer: unknown = setTimeout(run, Math.min(Math.max(0, ms), MAX_TIMER_MS))
    if (background) (timer as { unref?(): void }).unref?.()
    return () => clearTimeout(timer as number)
  },
}

export function expectClock(option: string, value: unknown): asserts value is Clock {
  expectMethods(option, value, 'a Clock', 'now', 'monotonic', 'setTimer', 'random')
}

/** One instant on both clocks of a client. */
export interface Moment {
  readonly mono: number
  readonly wall: number
}

export function moment(clock: Clock): Moment {
  return { mono: clock.monotonic(), wall: clock.now() }
}

/** The wall time for the `at` of events. It never goes back, although the clock may. */
export function risingTime(clock: Clock): () => number {
  let latest = 0
  return () => {
    latest = Math.max(latest, clock.now())
    return latest
  }
}

/** Such as `12:04:10`, for messages. */
export function timeOfDay(time: number): string {
  return new Date(time).toTimeString().slice(0, 8)
}
