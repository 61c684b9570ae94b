import { expectObject, expectOptions, expectWhole, refuse } from '../base/arguments.ts'
import { expectDuration } from '../base/duration.ts'
import type { RetryOptions, RetryPolicyConfig } from './types.ts'

/** The policy with every default filled in and every value checked. */
export function checkRetry(retry: RetryOptions = {}): RetryPolicyConfig {
  expectObject('retry', retry)
  expectOptions(retry, { initialDelayMs: 1, maxDelayMs: 1, multiplier: 1, maxAttempts: 1 }, 'retry.')
  const { initialDelayMs = 500, maxDelayMs = 4000, multiplier = 2, maxAttempts = 5 } = retry
  if (!(Number.isFinite(multiplier) && multiplier >= 0))
    refuse('retry.multiplier', 'a number from 0', multiplier)
  expectWhole('retry.maxAttempts', maxAttempts, 0)
  return {
    initialDelayMs: expectDuration('retry.initialDelayMs', initialDelayMs, 0),
    maxDelayMs: expectDuration('retry.maxDelayMs', maxDelayMs, 0),
    multiplier,
    maxAttempts,
  }
}

const DEFAULT_RETRY = checkRetry()

/** Milliseconds to wait after attempt number `attempt`, counted from 1; `null`: it was the last attempt. */
export function delayAfter(attempt: number, policy = DEFAULT_RETRY): number | null {
  if (attempt >= policy.maxAttempts) return null
  return Math.min(policy.maxDelayMs, policy.initialDelayMs * policy.multiplier ** (attempt - 1))
}
