import { onAbort, Stop } from '../base/abort.ts'
import { refuse } from '../base/arguments.ts'
import { checkName } from '../base/resource-name.ts'
import { acquire } from './acquire.ts'
import type { Context } from './context.ts'
import type { Lease } from './lease.ts'
import { LeaseHandle } from './lease-handle.ts'
import type { CheckedOptions } from './options.ts'

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
 * lost while the caller waits for another one, all are released. When the wait is used up, each of the names that are
 * left is still asked for once: a group that is free is granted, however short the wait is.
 */
export async function acquireAll(
  context: Context,
  names: readonly string[],
  options: CheckedOptions,
  stop: Stop,
  started: number,
): Promise<LeaseGroup> {
  const { clock } = context
  const byName = new Map<string, Lease>()
  const loss = new Stop()
  const release = async () => {
    await Promise.all([...byName.values()].map((lease) => lease.release()))
  }
  try {
    for (const resource of names.toSorted()) {
      const now = clock.monotonic()
      const wait = Math.max(0, options.wait - (now - started))
      const lease = new LeaseHandle(await acquire(context, { ...options, resource, wait }, stop, now))
      byName.set(resource, lease)
      onAbort(lease.signal, () => {
        loss.abort(lease.signal.reason)
        stop.abort(lease.signal.reason)
      })
      stop.throwIfAborted()
    }
  } catch (error) {
    await release().catch(() => {})
    throw error
  }
  const leases = names.map((name) => byName.get(name) as Lease)
  return {
    leases,
    signal: loss.signal,
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
