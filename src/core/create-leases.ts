import type { Stop } from '../base/abort.ts'
import { answerWithin } from '../base/answer-within.ts'
import {
  checkEach,
  expectFunction,
  expectMethods,
  expectOptions,
  expectWhole,
  refuse,
} from '../base/arguments.ts'
import { createChannel } from '../base/channel.ts'
import { defaultOwner } from '../base/default-owner.ts'
import { LeaseError } from '../base/errors.ts'
import type { LeaseRecord } from '../base/records.ts'
import { checkResource } from '../base/resource-name.ts'
import { acquireAll, checkResources, type LeaseGroup } from './acquire-all.ts'
import type { Lease } from './lease.ts'
import { LeaseHandle } from './lease-handle.ts'
import { createManager, expectStore, type Manager } from './manager.ts'
import { ADOPT_CHECKS, expectOneAttempt, type LeaseOptions, type LeasesOptions } from './options.ts'
import type { HoldingStore, LookingStore, ManagedStore, WaitingRecord } from './store.ts'
import { adopt, checkTicket, type LeaseTicket } from './ticket.ts'
import type { LeaseWatch, WatchEvent } from './watch.ts'

export type LeadOptions = Omit<LeaseOptions, 'wait'>
/** `signal` aborts when the lease is lost, and when the `signal` of the options aborts. */
export type Work<T> = (lease: Lease, signal: AbortSignal) => T | PromiseLike<T>
export type AdoptOptions = Pick<LeaseOptions, 'ttl' | 'heartbeat' | 'retry' | 'signal'>

export interface Leases extends Pick<Manager, 'subscribe' | 'close'>, AsyncDisposable {
  /**
   * Acquires, runs, always releases. Resolves with what `work` returns. Rejects with `lease-lost` if the lease was
   * lost before `work` ended, also if it threw: another holder may have worked at the same time.
   *
   * @example
   * await leases.withLease('invoice:42', async (lease) => save(invoice, lease.token))
   */
  withLease<T>(resource: string, work: Work<T>, options?: LeaseOptions): Promise<T>
  /** Waits for the lease. Rejects with `lease-held` when the wait ends. Not re-entrant. */
  acquire(resource: string, options?: LeaseOptions): Promise<Lease>
  /** One attempt; `null` if another caller holds it. */
  tryAcquire(resource: string, options?: Omit<LeaseOptions, 'wait'>): Promise<Lease | null>
  /**
   * Several leases at once, all or none. They are acquired in sorted order, so that two callers never wait for each
   * other. `wait` covers the whole call. When it is used up, each name that is left is still asked for once.
   *
   * @example
   * await using both = await leases.acquireAll(['account:1', 'account:2'])
   */
  acquireAll(resources: readonly string[], options?: LeaseOptions): Promise<LeaseGroup>
  /**
   * Leader election: waits in the queue without a time limit, and runs `work` while it holds the lease. After a loss it
   * waits again and runs `work` again. Resolves with what `work` returns, and rejects when `work` throws. When the
   * `signal` of the options aborts, it resolves with `undefined`: at once while it waits, and otherwise when `work` has
   * ended and the lease is released.
   *
   * @example
   * await leases.lead('scheduler', async (lease, signal) => runSchedule(signal), { signal })
   */
  lead<T>(resource: string, work: Work<T>, options?: LeadOptions): Promise<T | undefined>
  /** The live lease of a resource, whoever holds it. Of several, the oldest. */
  inspect(resource: string): Promise<LeaseRecord | null>
  /** All live leases of a resource, oldest first. */
  holders(resource: string): Promise<readonly LeaseRecord[]>
  /**
   * The waiters of a resource, in the order of the queue: at most the first 1000. Rejects with `invalid-argument` if the
   * store keeps no queue: see `supports.queue`.
   */
  waiting(resource: string): Promise<readonly WaitingRecord[]>
  /**
   * Ends the lease with this token by force, whoever holds it. Resolves with whether it did. The holder is told, or
   * notices with its next heartbeat.
   *
   * @example
   * const [holder] = await leases.holders('invoice:42')
   * if (holder) await leases.release('invoice:42', { token: holder.token })
   */
  release(resource: string, by: { readonly token: number }): Promise<boolean>
  /**
   * Continues a lease that another handle has detached, in this or another process. Rejects with `lease-lost` if it
   * has ended, and with `invalid-argument` if the ticket is not one of this kind of store.
   */
  adopt(ticket: LeaseTicket, options?: AdoptOptions): Promise<Lease>
  /** Live leases in the order of their resources and tokens, at most `limit` (default 100). */
  list(query?: { readonly prefix?: string; readonly limit?: number }): Promise<readonly LeaseRecord[]>
  /**
   * Reports every grant, renewal and end of everyone's leases from the moment the promise resolves, and `gap` when
   * something may have been missed. The leases that are already live are in `live` of the watch. It ends with its
   * `close()`, or with that of the manager. Rejects with `invalid-argument` if the store cannot push or list.
   *
   * @example
   * await using watch = await leases.watch({ prefix: 'invoice:' }, ({ type, lease }) => console.log(type, lease?.owner))
   */
  watch(query: { readonly prefix?: string }, listener: (event: WatchEvent) => void): Promise<LeaseWatch>
}

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
  const { run, check, subscribe, close } = manager
  const leases: Leases = {
    subscribe,
    close,
    [Symbol.asyncDispose]: close,

    acquire: async (resource, callOptions) => new LeaseHandle(await manager.acquire(resource, callOptions)),

    async tryAcquire(resource, callOptions) {
      expectOneAttempt(callOptions)
      return leases.acquire(resource, { ...callOptions, wait: 0 }).catch((error: LeaseError) => {
        if (error.code === 'lease-held') return null
        throw error
      })
    },

    async withLease(resource, work, callOptions) {
      expectFunction('work', work)
      const lease = await leases.acquire(resource, callOptions)
      let result: Awaited<ReturnType<typeof work>>
      try {
        result = await work(lease, signalOf(lease, callOptions))
      } catch (cause) {
        await lease[Symbol.asyncDispose]()
        const { aborted, reason } = lease.signal
        if (!aborted || cause === reason) throw cause
        // Whatever the work threw: another caller may have worked at the same time.
        throw new LeaseError(reason.code, reason.message, { cause, resource })
      }
      await lease[Symbol.asyncDispose]()
      lease.signal.throwIfAborted()
      return result
    },

    async acquireAll(resources, callOptions) {
      const names = checkResources(resources)
      const checked = check(names[0] ?? '', callOptions)
      return run((context, stop, started) => acquireAll(context, names, checked, stop, started), checked)
    },

    async lead(resource, work, callOptions) {
      expectFunction('work', work)
      expectOneAttempt(callOptions)
      check(resource, callOptions)
      const stop = callOptions?.signal
      for (;;) {
        const lease = await leases.acquire(resource, { ...callOptions, wait: Infinity }).catch((error) => {
          if (!stop?.aborted) throw error
        })
        if (!lease) return
        try {
          const result = await work(lease, signalOf(lease, callOptions))
          if (!stop?.aborted && !lease.signal.aborted) return result
        } catch (error) {
          if (!lease.signal.aborted && !(stop?.aborted && isAbort(error, stop))) throw error
        } finally {
          await lease[Symbol.asyncDispose]()
        }
      }
    },

    inspect: async (resource) => (await leases.holders(resource))[0] ?? null,

    async holders(resource) {
      const name = checkResource(resource)
      const [leases = []] = await ask('read', [name])
      return leases
    },

    async waiting(resource) {
      const query = { resources: [checkResource(resource)], limit: 1000 }
      const [queue] = await ask('waiting', query)
      return queue?.first ?? []
    },

    async release(resource, by) {
      const name = checkResource(resource)
      const { token } = Object(by) as typeof by
      expectWhole('token', token, 0)
      const { ended } = await ask('release', { resource: name, token }, name)
      return ended?.state === 'released'
    },

    async adopt(ticket, own = {}) {
      const { signal } = checkEach<AdoptOptions>(own, ADOPT_CHECKS) as AdoptOptions
      return run(
        async (context, stop) => {
          const checked = checkTicket(ticket, context.store.kind)
          const { resource, ttl } = checked
          return new LeaseHandle(await adopt(context, checked, check(resource, { ttl, ...own }), stop))
        },
        { signal },
      )
    },

    async list(query = {}) {
      expectOptions(query, { prefix: 1, limit: 1 })
      const { prefix = '', limit = 100 } = query
      expectWhole('limit', limit, 1)
      const found: LeaseRecord[] = []
      let after: string | undefined
      do {
        const rest = { prefix, limit: Math.min(LIST_AT_ONCE, limit - found.length), after }
        const page = await ask('list', rest)
        found.push(...page.leases)
        after = page.next
      } while (after && found.length < limit)
      return found
    },

    async watch(query, listener) {
      expectOptions(query, { prefix: 1 })
      const { emit, subscribe } = createChannel<WatchEvent>()
      subscribe(listener)
      const { watchLeases } = await import('./watch.ts')
      const read = (resources: readonly string[]) => ask('read', resources)
      return run((context, stop) =>
        watchLeases(context, query, { stop, emit, read, list: leases.list, answerWithin, refuse }),
      )
    },
  }
  return leases

  function ask<M extends 'read' | 'waiting' | 'list' | 'release'>(
    method: M,
    query: Parameters<Asked[M]>[0],
    resource = '',
  ): Promise<Awaited<ReturnType<Asked[M]>>> {
    return run(async (context, stop) => {
      const { store, callTimeout, queue } = context
      expectMethods('store', store, 'a LeaseStore', method)
      // The compiler cannot see that the query and the answer belong to the same method.
      const asked = store as unknown as Record<M, (query: unknown, stop: Stop) => Promise<never>>
      const answer = await answerWithin(asked[method](query, stop), callTimeout, context, resource, stop)
      // It may have been released.
      queue?.wake(resource)
      return answer
    })
  }
}

function signalOf(lease: Lease, { signal }: LeaseOptions = {}): AbortSignal {
  return signal ? AbortSignal.any([signal, lease.signal]) : lease.signal
}

/** Whether the work threw because it was told to stop. */
function isAbort(error: unknown, { reason }: AbortSignal): boolean {
  const { name, code } = Object(error) as Partial<LeaseError>
  return error === reason || name === 'AbortError' || code === 'aborted'
}

/** A store answers with pages of at most so many leases. */
const LIST_AT_ONCE = 1000

type Asked = Required<LookingStore> & HoldingStore
