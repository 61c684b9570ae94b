import { LeaseError } from '../core/index.ts'
import { SCOPES } from './lock-file.ts'
import { DEFAULT_RETRY } from './retry-policy.ts'
import type { AcquireProjectLockOptions, LockScope, RetryPolicyConfig } from './types.ts'

/** What an acquisition asks for, every default filled in and every value checked. */
export interface Wish {
  readonly scope: LockScope
  readonly signal: AbortSignal
  readonly policy: RetryPolicyConfig
  readonly standby: boolean
}

export function makeWish(options: AcquireProjectLockOptions = {}): Wish {
  expectObject('options', options)
  const { scope = 'autosave', signal = new AbortController().signal, retry = {}, standby = false } = options
  if (!SCOPES.includes(scope)) refuse('scope', `${SCOPES}`, scope)
  if (typeof signal?.addEventListener !== 'function') refuse('signal', 'an AbortSignal', signal)
  expectObject('retry', retry)
  const policy = { ...DEFAULT_RETRY }
  for (const name of Object.keys(policy) as (keyof RetryPolicyConfig)[]) {
    const { [name]: value = policy[name] } = retry
    if (!(Number.isFinite(value) && value >= 0)) refuse(`retry.${name}`, 'a number from 0', value)
    policy[name] = value
  }
  return { scope, signal, policy, standby }
}

export function expectObject(name: string, given: unknown): void {
  if (!isObject(given)) refuse(name, 'an object', given)
}

function isObject(given: unknown): boolean {
  return Object(given) === given
}

export function refuse(name: string, expected: string, given: unknown): never {
  const shown = isObject(given) ? 'an object' : String(given)
  throw new LeaseError('invalid-argument', `${name}: expected ${expected}, got ${shown}`)
}
