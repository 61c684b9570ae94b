import { type RetryPolicyConfig, retryCheck } from '../base/retry.ts'

const DEFAULT_RETRY: RetryPolicyConfig = {
  initialDelayMs: 500,
  maxDelayMs: 4000,
  multiplier: 2,
  maxAttempts: 5,
}

/** Checks `retry`. What it leaves out has the defaults of the project lock. */
export const checkRetry = retryCheck(DEFAULT_RETRY)

/** Milliseconds to wait after attempt number `attempt`, counted from 1; `null`: it was the last attempt. */
export const delayAfter = checkRetry('retry', {})
