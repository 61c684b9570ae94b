/** The option `retry` of the project lock and AutoSave: the numbers of a policy, or a function as in the core. */
import { type Checks, checkEach, expectWhole, isObject, refuse } from './arguments.ts'
import { type Duration, expectDuration, millisOf } from './duration.ts'

export interface RetryPolicyConfig {
  readonly initialDelayMs: number
  readonly maxDelayMs: number
  readonly multiplier: number
  readonly maxAttempts: number
}

/** Any part of a `RetryPolicyConfig`. Its times may also be text, such as `'2s'`. */
export interface RetryOptions {
  /** The pause after the first failure. */
  readonly initialDelayMs?: Duration | undefined
  /** The longest pause. */
  readonly maxDelayMs?: Duration | undefined
  /** Each pause is this many times as long as the one before. Default 2. */
  readonly multiplier?: number | undefined
  /** The first attempt and its retries: 5 gives up after the fifth failure in a row. */
  readonly maxAttempts?: number | undefined
}

/**
 * How long to pause before the next try: numbers, or a function that gets 1, 2, … for the failures in a row and returns
 * the pause, or `null` to give up.
 *
 * @example
 * locks.acquireProjectLock({ retry: { initialDelayMs: '100ms', maxAttempts: 5 } })
 * locks.acquireProjectLock({ retry: (failures) => (failures < 5 ? '100ms' : null) })
 */
export type ProjectRetry = ((failures: number) => Duration | null) | RetryOptions

/** Milliseconds to pause after failure number `failures` in a row; `null` gives up. */
export type Pauses = (failures: number) => number | null

const CHECKS: Checks<RetryOptions> = {
  initialDelayMs: checkDelay,
  maxDelayMs: checkDelay,
  multiplier(option, value) {
    if (!(Number.isFinite(value) && Number(value) >= 0)) refuse(option, 'a number from 0', value)
  },
  maxAttempts: (option, value) => expectWhole(option, value, 1),
}

/** How to check `retry`. `defaults`: of the numbers that an object leaves out. */
export function retryCheck(defaults: RetryPolicyConfig): (option: string, retry: unknown) => Pauses {
  return (option, retry) => {
    if (typeof retry === 'function')
      return (failures) => {
        const pause = millisOf(retry(failures))
        return pause >= 0 ? pause : null
      }
    if (!isObject(retry)) refuse(option, 'a function or an object', retry)
    const numbers = { ...defaults, ...checkEach(retry as RetryOptions, CHECKS, 'retry.') }
    return (failures) =>
      failures < numbers.maxAttempts
        ? Math.min(numbers.maxDelayMs, numbers.initialDelayMs * numbers.multiplier ** (failures - 1))
        : null
  }
}

function checkDelay(option: string, value: unknown): number {
  return expectDuration(option, value, 0)
}
