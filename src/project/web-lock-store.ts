/**
 * The port on a Web Lock alone. A project lease shows no token and no holder, so nothing is stored beside the lock,
 * and taking it costs one request.
 */
import type { Ask, Clock, LeaseRecord, LeaseStore } from '../core/index.ts'
import { createCalls, lockDesk, type WebLocks } from '../stores/web/index.ts'

/** `find` is asked each time: a page may lose the API after it was loaded. */
export function projectWebLockStore(
  find: () => WebLocks | null | undefined,
  prefix: string,
  clock: Clock,
): LeaseStore {
  const locks: WebLocks = {
    request: async (...args) => webLocks().request(...args),
    query: async () => webLocks().query(),
  }
  const calls = createCalls('web-lock')
  const desk = lockDesk(locks, prefix, clock)
  const leases = new Map<string, LeaseRecord>()

  return {
    kind: 'web-lock',
    supports: { queue: true, push: true, expiry: false, list: false },

    acquire: (ask, call) =>
      calls.run(async () => {
        const hold = await desk.ask(ask)
        if (!hold)
          return { granted: false, holder: null, place: desk.isWaiting(ask.id) ? 0 : null, retryIn: null }
        hold.onStolen = () => ask.lost?.()
        const lease = describe(ask, clock)
        leases.set(ask.id, lease)
        return { granted: true, lease }
      }, call),

    renew: ({ id }, call) =>
      calls.run(async () => {
        // The answer comes after the news of a steal that happened before it.
        await locks.query()
        const lease = desk.holdOf(id) && leases.get(id)
        return lease ? { ok: true, lease } : { ok: false, holder: null }
      }, call),

    release: (by, call) =>
      calls.run(async () => {
        const lease = [...leases.values()].find((held) => isMeant(held, by))
        const isHeld = lease && desk.holdOf(lease.id)
        const id = lease?.id ?? ('id' in by ? by.id : '')
        desk.leave(id)
        leases.delete(id)
        return { ended: isHeld ? { ...lease, state: 'released' } : null, holder: null }
      }, call),

    read: (resources, call) =>
      calls.run(async () => {
        const held = [...leases.values()].filter(({ id }) => desk.holdOf(id))
        return resources.map((resource) => held.find((lease) => lease.resource === resource) ?? null)
      }, call),

    list: () => calls.run(async () => ({ leases: [] })),
    sweep: () => calls.run(async () => []),
    watch: () => calls.run(async () => ({ async [Symbol.asyncDispose]() {} })),

    async close() {
      calls.close()
      desk.leaveAll()
    },
  }

  function webLocks(): WebLocks {
    const found = find()
    if (!found) throw new DOMException('this page has no Web Locks', 'NotSupportedError')
    return found
  }
}

function isMeant(lease: LeaseRecord, by: { id: string } | { token: number }): boolean {
  return 'id' in by ? lease.id === by.id : lease.token === by.token
}

function describe({ resource, id, owner }: Ask, clock: Clock): LeaseRecord {
  const acquiredAt = clock.now()
  const token = Math.floor(acquiredAt * 1000)
  const forEver = { expiresAt: null, remaining: null } as const
  return { resource, id, owner, token, metadata: null, acquiredAt, ...forEver, state: 'held' }
}
