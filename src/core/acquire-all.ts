import type { Lease } from './lease.ts'
import type { LeaseOptions } from './options.ts'
import type { Tools } from './rare-methods.ts'

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

/**
 * One after the other in sorted order, so that two callers never wait for each other. If one cannot be acquired, or is
 * lost while the caller waits for another one, all are released. When the wait is used up, each of the names that are
 * left is still asked for once: a group that is free is granted, however short the wait is.
 */
export async function acquireAll(
  tools: Tools,
  resources: readonly string[],
  own?: LeaseOptions,
): Promise<LeaseGroup> {
  const { manager, acquire, handle } = tools
  const names = checkResources(tools, resources)
  const options = manager.check(names[0] ?? '', own)
  return manager.run(async (context, stop, started) => {
    const { clock } = context
    const byName = new Map<string, Lease>()
    const loss = new AbortController()
    const release = async () => {
      const outcomes = await Promise.allSettled([...byName.values()].map((lease) => lease.release()))
      // When all of them have ended: none is released after the call.
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    }
    try {
      for (const resource of names.toSorted()) {
        const now = clock.monotonic()
        const wait = Math.max(0, options.wait - (now - started))
        const lease = handle(await acquire(context, { ...options, resource, wait }, stop, now))
        byName.set(resource, lease)
        const { signal } = lease
        signal.addEventListener('abort', () => {
          loss.abort(signal.reason)
          stop.abort(signal.reason)
        })
        signal.throwIfAborted()
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
  }, options)
}

/** Every name once. A name that occurs twice would wait for itself. */
function checkResources(tools: Tools, resources: readonly string[]): readonly string[] {
  const refuse: Tools['refuse'] = tools.refuse
  if (!Array.isArray(resources) || resources.length === 0) refuse('resources', 'an array of names', resources)
  const names = resources.map((resource, n) => tools.checkName(`resources[${n}]`, resource))
  const twice = names.find((name, n) => names.indexOf(name) < n)
  if (twice !== undefined) refuse('resources', 'names that differ', twice)
  return names
}
