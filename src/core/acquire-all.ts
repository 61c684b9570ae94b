import { onAbort } from '../base/abort.ts'
import { refuse } from '../base/arguments.ts'
import type { Clock } from '../base/clock.ts'
import { checkName } from '../base/resource-name.ts'
import type { Leases } from './create-leases.ts'
import type { Lease } from './lease.ts'
import type { CheckedOptions, LeaseOptions } from './options.ts'

/** Several leases that were acquired together. */
export interface LeaseGroup extends AsyncDisposable {
  /** In the order of the call. */
  readonly leases: readonly Lease[]
  /** Aborts with the reason of the first lease that is lost. */
  readonly signal: AbortSignal
  /** Whether all of them are held. */
  readonly held: boolean
  /** Ends all leases. Rejects if one of the releases failed; that lease then ends with its TTL. */
  release(): Promise<void>
}

/** Every name once. A name that occurs twice would wait for itself. */
export function checkResources(resources: readonly string[]): readonly string[] {
  if (!Array.isArray(resources) || resources.length === 0) refuse('resources', 'an array of names', resources)
  const names = resources.map((resource, n) => checkName(`resources[${n}]`, resource))
  const twice = names.find((name, n) => names.indexOf(name) < n)
  if (twice !== undefined) refuse('resources', 'names that differ', twice)
  return names
}

/**
 * One after the other in sorted order, so that two callers never wait for each other. If one cannot be acquired, or is
 * lost while the caller waits for another one, all are released.
 */
export async function acquireAll(
  { acquire }: Pick<Leases, 'acquire'>,
  clock: Clock,
  names: readonly string[],
  { wait, signal }: Pick<CheckedOptions, 'wait' | 'signal'>,
  options?: LeaseOptions,
): Promise<LeaseGroup> {
  const started = clock.monotonic()
  const byName = new Map<string, Lease>()
  const lost = new AbortController()
  const stop = signal ? AbortSignal.any([signal, lost.signal]) : lost.signal
  const release = async () => {
    await Promise.all([...byName.values()].map((lease) => lease.release()))
  }
  try {
    for (const name of names.toSorted()) {
      const left = Math.max(0, wait - (clock.monotonic() - started))
      const lease = await acquire(name, { ...options, wait: left, signal: stop })
      byName.set(name, lease)
      onAbort(lease.signal, () => lost.abort(lease.signal.reason))
      lost.signal.throwIfAborted()
    }
  } catch (error) {
    await release().catch(() => {})
    throw lost.signal.aborted ? lost.signal.reason : error
  }
  const leases = names.map((name) => byName.get(name) as Lease)
  return {
    leases,
    signal: lost.signal,
    get held() {
      return leases.every(({ held }) => held)
    },
    release,
    async [Symbol.asyncDispose]() {
      // An event reported the failure, and the lease ends with its TTL. The caller's own result counts.
      await release().catch(() => {})
    },
  }
}
