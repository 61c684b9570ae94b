import { answerWithin } from '../base/answer-within.ts'
import { checkEach, expectFunction, refuse } from '../base/arguments.ts'
import { moment } from '../base/clock.ts'
import { defaultOwner } from '../base/default-owner.ts'
import { createEmitter } from '../base/emitter.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { FIRST_CALL_MS } from '../base/options.ts'
import { randomId } from '../base/random-id.ts'
import { checkName } from '../base/resource-name.ts'
import { acquire } from './acquire.ts'
import { type Keeper, keepGrant } from './keeper.ts'
import type { Lease } from './lease.ts'
import { LeaseHandle } from './lease-handle.ts'
import type { Leases } from './leases.ts'
import { loadRareMethods } from './load-rare-methods.ts'
import { createManager, expectStore } from './manager.ts'
import { expectOneAttempt, type LeaseOptions, type LeasesOptions } from './options.ts'
import type { RareMethods } from './rare-methods.ts'
import type { ManagedStore } from './store.ts'

/** What the rare methods have from the core: see there. */
const CORE = {
  FIRST_CALL_MS,
  LeaseError,
  acquire,
  answerWithin,
  asLeaseError,
  checkEach,
  checkName,
  createEmitter,
  expectOneAttempt,
  keepGrant,
  keeperOf: LeaseHandle.keeperOf,
  moment,
  randomId,
  refuse,
}
export type Core = typeof CORE

/**
 * Leases on a store: who may write this now, until when?
 *
 * @example
 * const leases = createLeases(sqliteStore('./holdfast.db'))
 * await leases.withLease('invoice:42', async (lease) => save(invoice, lease.token))
 */
export function createLeases(
  store: ManagedStore | PromiseLike<ManagedStore>,
  options: LeasesOptions = {},
): Leases {
  const manager = createManager(store, options, defaultOwner(), expectStore)
  const { subscribe, close } = manager
  const leases: Leases = {
    subscribe,
    close,
    [Symbol.asyncDispose]: close,

    acquire: async (resource, callOptions) => handle(await manager.acquire(resource, callOptions)),

    async tryAcquire(resource, callOptions) {
      expectOneAttempt(callOptions)
      return leases.acquire(resource, { ...callOptions, wait: 0 }).catch((error: LeaseError) => {
        if (error.code === 'lease-held') return null
        throw error
      })
    },

    async withLease<T>(
      resource: string | readonly string[],
      work: (lease: never, signal: AbortSignal) => T | PromiseLike<T>,
      callOptions?: LeaseOptions,
    ) {
      expectFunction('work', work)
      const lease = await (Array.isArray(resource)
        ? leases.acquireAll(resource, callOptions)
        : leases.acquire(resource as string, callOptions))
      const keepers = ('leases' in lease ? lease.leases : [lease]).map(LeaseHandle.keeperOf)
      const lossOf = () => keepers.find(({ loss }) => loss.reason)?.loss.reason
      let result: T
      try {
        for (const keeper of keepers) {
          keeper.told.throwIfAborted()
          keeper.isWorking = true
        }
        // The compiler cannot see which work belongs to which names.
        const [held, signal] = [lease as never, callOptions?.signal]
        result = await (signal ? (await load()).withBoth(held, signal, work) : work(held, lease.signal))
      } catch (cause) {
        await lease[Symbol.asyncDispose]()
        const loss = lossOf()
        if (!loss || cause === loss) throw cause
        // Whatever the work threw: another caller may have worked at the same time.
        throw new LeaseError(loss.code, loss.message, { ...loss, cause })
      }
      await lease[Symbol.asyncDispose]()
      const loss = lossOf()
      if (loss) throw loss
      return result
    },

    acquireAll: rarely('acquireAll'),
    adopt: rarely('adopt'),
    holders: rarely('holders'),
    inspect: rarely('inspect'),
    lead: rarely('lead'),
    list: rarely('list'),
    release: rarely('release'),
    tryWithLease: rarely('tryWithLease'),
    waiting: rarely('waiting'),
    watch: rarely('watch'),
  }
  return leases

  function rarely<M extends keyof RareMethods>(method: M): RareMethods[M] {
    const call = async (...args: never[]) => {
      const { rareMethods } = await load()
      const methods = rareMethods({ ...CORE, leases, manager, handle })
      return (methods[method] as (...args: never[]) => unknown)(...args)
    }
    return call as RareMethods[M]
  }

  function handle(keeper: Keeper): Lease {
    return new LeaseHandle(keeper, async () => (await load()).detach(keeper, LeaseError))
  }
}

function load(): ReturnType<typeof loadRareMethods> {
  return loadRareMethods().catch((error) => {
    throw asLeaseError(error)
  })
}
