import { type Checks, checkEach, expectObject, expectWhole, refuse } from '../base/arguments.ts'
import { expectDuration } from '../base/duration.ts'
import type { RetryOptions, RetryPolicyConfig } from './types.ts'

export const DEFAULT_RETRY: RetryPolicyConfig = {
  initialDelayMs: 500,
  maxDelayMs: 4000,
  multiplier: 2,
  maxAttempts: 5,
}

const checkDelay = (option: string, value: unknown) => expectDuration(option, value, 0)

const CHECKS: Checks<RetryOptions> = {
  initialDelayMs: checkDelay,
  maxDelayMs: checkDelay,
  multiplier(option, value) {
    if (!(Number.isFinite(value) && Number(value) >= 0)) refuse(option, 'a number from 0', value)
  },
  maxAttempts: (option, value) => expectWhole(option, value, 1),
}

/** The policy with every default filled in and every value checked. */
export function checkRetry(retry: unknown): RetryPolicyConfig {
  expectObject('retry', retry)
  return { ...DEFAULT_RETRY, ...checkEach<RetryOptions>(retry, CHECKS, 'retry.') }
}

/** Milliseconds to wait after attempt number `attempt`, counted from 1; `null`: it was the last attempt. */
export function delayAfter(attempt: number, policy = DEFAULT_RETRY): number | null {
  if (attempt >= policy.maxAttempts) return null
  return Math.min(policy.maxDelayMs, policy.initialDelayMs * policy.multiplier ** (attempt - 1))
}
