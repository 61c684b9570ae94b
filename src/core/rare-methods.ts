/**
 * The methods of leases that few programs use. A page loads them when it uses one. This module and those that it
 * imports import only types from elsewhere, and get the functions of the core as `Tools`. With imports of their own a
 * bundler would take the core apart, which makes it larger.
 */
import type { LeaseError } from '../base/errors.ts'
import type { LeaseRecord } from '../base/records.ts'
import { acquireAll } from './acquire-all.ts'
import type { Core } from './create-leases.ts'
import type { Keeper } from './keeper.ts'
import { lead } from './lead.ts'
import type { Lease } from './lease.ts'
import type { Leases, LeasesQuery, Work } from './leases.ts'
import type { Manager, ManagerTools } from './manager.ts'
import type { LeaseOptions } from './options.ts'
import { LIST_AT_ONCE, LIST_LIMIT, MOST_WAITERS } from './rare-options.ts'
import type { CallOptions, HoldingStore, LeasePage, ListQuery, LookingStore } from './store.ts'
import { adopt, detach } from './ticket.ts'
import { watch } from './watch.ts'
import { withBoth } from './with-both.ts'

export type RareMethods = Pick<
  Leases,
  | 'acquireAll'
  | 'adopt'
  | 'holders'
  | 'inspect'
  | 'lead'
  | 'list'
  | 'release'
  | 'tryWithLease'
  | 'waiting'
  | 'watch'
>

/** What these methods have from the core. */
export interface Tools extends Core {
  readonly leases: Leases
  readonly manager: Manager & ManagerTools
  handle(keeper: Keeper): Lease
}

export { detach, withBoth }

export function rareMethods(tools: Tools): RareMethods {
  const { leases, checkName, checkEach } = tools
  const { expectWhole, expectString, checkPrefix } = checksOf(tools.refuse)
  const ask = askOf(tools)
  return {
    acquireAll: (resources, options) => acquireAll(tools, resources, options),
    adopt: (ticket, options) => adopt(tools, ticket, options),
    lead: (resource, work, options) => lead(tools, resource, work, options),

    async inspect(resource) {
      const found = await leases.holders(resource)
      return found.find(({ state }) => state === 'held') ?? found[0] ?? null
    },

    async holders(resource) {
      const [leases = []] = await ask('read', [checkName('resource', resource)])
      return leases
    },

    async waiting(resource) {
      const [queue] = await ask('waiting', {
        resources: [checkName('resource', resource)],
        limit: MOST_WAITERS,
      })
      return queue?.first ?? []
    },

    async release(resource, by) {
      const name = checkName('resource', resource)
      const { token } = Object(by) as typeof by
      expectWhole('token', token, 0)
      const { ended } = await ask('release', { resource: name, token }, name)
      return ended?.state === 'released'
    },

    async list(query = {}) {
      const checks = {
        prefix: checkPrefix,
        limit: (name: string, limit: unknown) => expectWhole(name, limit, 1),
        after: expectString,
      }
      const { prefix = '', limit = LIST_LIMIT, after } = checkEach(query, checks) as LeasesQuery
      return listPages(ask, { prefix, limit, after })
    },

    async tryWithLease<T>(
      resource: string | readonly string[],
      work: (lease: never, signal: AbortSignal) => T | PromiseLike<T>,
      options?: Omit<LeaseOptions, 'wait'>,
    ) {
      if (typeof work !== 'function') tools.refuse('work', 'a function', work)
      tools.expectOneAttempt(options)
      let isGranted = false
      const granted: typeof work = (lease, signal) => {
        isGranted = true
        return work(lease, signal)
      }
      try {
        // The compiler cannot see which work belongs to which names.
        const result = await leases.withLease(resource as string, granted as Work<T>, { ...options, wait: 0 })
        return { ran: true, result }
      } catch (error) {
        const { code, holder, keptFor } = error as LeaseError
        // The work itself may have asked for another lease.
        if (isGranted || code !== 'lease-held') throw error
        return { ran: false, holder, keptFor }
      }
    },

    async watch(query, listener) {
      const { prefix = '' } = checkEach(query, { prefix: checkPrefix }) as typeof query
      return watch(tools, prefix, listener, (resources) => ask('read', resources))
    },
  }
}

/** A store answers with pages of its own size. */
async function listPages(
  ask: ReturnType<typeof askOf>,
  { prefix, limit, after }: ListQuery,
): Promise<LeasePage> {
  const found: LeaseRecord[] = []
  let next = after
  do {
    const page = await ask('list', {
      prefix,
      limit: Math.min(LIST_AT_ONCE, limit - found.length),
      after: next,
    })
    found.push(...page.leases)
    next = page.next
  } while (next && found.length < limit)
  return { leases: found, ...(next && { next }) }
}

type Asked = Required<LookingStore> & HoldingStore

/** Calls a method of the store. */
function askOf({ manager, answerWithin, refuse }: Tools) {
  return function ask<M extends 'read' | 'waiting' | 'list' | 'release'>(
    method: M,
    query: Parameters<Asked[M]>[0],
    resource = '',
  ): Promise<Awaited<ReturnType<Asked[M]>>> {
    return manager.run(async (context, stop) => {
      const { store, callTimeout, queue } = context
      // The compiler cannot see that the query and the answer belong to the same method.
      const asked = store as unknown as Record<M, (query: unknown, call: CallOptions) => Promise<never>>
      if (!asked[method]) refuse('store', `a LeaseStore (with ${method})`, store)
      // `close` waits for a release: it may have been carried out.
      const end = method === 'release' ? undefined : stop
      const call: CallOptions = end ?? { timeout: callTimeout }
      const asking = asked[method](query, call)
      const answer = await answerWithin(asking, call.limited ? Infinity : callTimeout, context, resource, end)
      // It may have been released.
      queue?.wake(resource)
      return answer
    })
  }
}

function checksOf(refuse: Tools['refuse']) {
  const expectWhole = (option: string, value: unknown, min: number): void => {
    if (!Number.isSafeInteger(value) || (value as number) < min)
      refuse(option, `a whole number from ${min}`, value)
  }
  const expectString = (option: string, value: unknown): string => {
    if (typeof value !== 'string') refuse(option, 'a string', value)
    return value
  }
  /** In NFC, as names are. */
  const checkPrefix = (option: string, prefix: unknown): string =>
    expectString(option, prefix).normalize('NFC')
  return { expectWhole, expectString, checkPrefix }
}
