import type { RetryPolicyConfig } from './types.ts'

export const DEFAULT_RETRY: RetryPolicyConfig = {
  initialDelayMs: 500,
  maxDelayMs: 4000,
  multiplier: 2,
  maxAttempts: 5,
}

/** How long to pause after the attempt of this number, from 1; `null` when it was the last. */
export function delayAfter(attempt: number, policy = DEFAULT_RETRY): number | null {
  if (attempt >= policy.maxAttempts) return null
  return Math.min(policy.maxDelayMs, policy.initialDelayMs * policy.multiplier ** (attempt - 1))
}
