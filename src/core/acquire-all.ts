import type { Stop } from '../base/abort.ts'
import type { Context } from './context.ts'
import type { Keeper } from './keeper.ts'
import type { Lease } from './lease.ts'
import type { CheckedOptions, LeaseOptions } from './options.ts'
import type { Tools } from './rare-methods.ts'
import type { Ask } from './store.ts'

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
 * All in one request, if the store can and all of them are free. Otherwise one after the other in sorted order, so that
 * two callers never wait for each other. If one cannot be acquired, or is
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
    const add = (keeper: Keeper) => {
      const lease = handle(keeper)
      byName.set(lease.resource, lease)
      const { signal } = lease
      const lose = () => {
        loss.abort(signal.reason)
        stop.abort(signal.reason)
      }
      if (signal.aborted) lose()
      else signal.addEventListener('abort', lose)
    }
    try {
      const sorted = names.toSorted()
      const together = await acquireTogether(tools, sorted, options, { context, stop, started })
      for (const keeper of together) add(keeper)
      stop.throwIfAborted()
      for (const resource of together.length > 0 ? [] : sorted) {
        const now = clock.monotonic()
        const wait = Math.max(0, options.wait - (now - started))
        add(await acquire(context, { ...options, resource, wait }, stop, now))
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

/** What `run` of the manager gives to its work. */
interface Run {
  readonly context: Context
  readonly stop: Stop
  readonly started: number
}

/**
 * Asks the store for all of them in one request. Resolves with none if the store cannot do that, if one of the names is
 * not free, or if the request failed. What a request without an answer may have been granted is released.
 */
async function acquireTogether(
  tools: Tools,
  names: readonly string[],
  options: CheckedOptions,
  { context, stop, started }: Run,
): Promise<readonly Keeper[]> {
  const { store, clock, callTimeout, endsWithProcess, emit } = context
  const { owner, ttl, metadata, share, atLeast, lockDelay, replace, wait } = options
  const isOffered = store.supports.share || !(share || atLeast || lockDelay)
  if (!store.acquireAll || names.length === 1 || replace || !isOffered) return []
  const keepers = new Map<string, Keeper>()
  const endedEarly = new Set<string>()
  const asks = names.map((resource): Ask => {
    const id = tools.randomId()
    const lost = () => {
      endedEarly.add(id)
      keepers.get(id)?.lose('ended')
    }
    return { resource, id, owner, ttl, metadata, share, atLeast, lockDelay, endsWithProcess, lost }
  })
  for (const ask of asks) emit(ask, { type: 'attempt', attempt: 1 })
  const sent = tools.moment(clock)
  const call = store.acquireAll(asks, stop)
  const patience = wait ? Math.max(wait, tools.FIRST_CALL_MS) : Infinity
  const limit = Math.min(callTimeout, patience)
  try {
    const grants = await tools.answerWithin(call, limit, context, names[0], stop)
    stop.throwIfAborted()
    for (const { lease, replaced } of grants ?? []) {
      if (replaced?.state === 'expired') emit(lease, { type: 'expired', lease: replaced })
      const keeper = tools.keepGrant(context, options, lease, { sent, started, attempts: 1 })
      keepers.set(lease.id, keeper)
      if (endedEarly.has(lease.id)) keeper.lose('ended')
    }
    return [...keepers.values()]
  } catch (cause) {
    for (const keeper of keepers.values()) context.untilDone(keeper.release())
    for (const ask of asks) {
      if (!keepers.has(ask.id)) context.giveUp(ask, options)
      // The release may overtake a slow request.
      context.giveUp(ask, options, call)
    }
    stop.throwIfAborted()
    const error = tools.asLeaseError(cause, names[0])
    for (const ask of asks) emit(ask, { type: 'error', operation: 'acquire', error })
    return []
  }
}

/** Every name once. A name that occurs twice would wait for itself. */
function checkResources(tools: Tools, resources: readonly string[]): readonly string[] {
  const refuse: Tools['refuse'] = tools.refuse
  if (!Array.isArray(resources) || resources.length === 0)
    refuse('resources', 'an array of at least one name', resources)
  const names = resources.map((resource, n) => tools.checkName(`resources[${n}]`, resource))
  const twice = names.find((name, n) => names.indexOf(name) < n)
  if (twice !== undefined) refuse('resources', 'names that differ', twice)
  return names
}
