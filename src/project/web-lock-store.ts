/**
 * The port on a Web Lock alone. A project lease shows neither token nor holder, so nothing is stored beside the lock,
 * and taking it costs one request.
 */
import type { Clock, LeaseRecord, LeaseStore } from '../core/index.ts'
import { lockDesk, type WebLocks } from '../stores/web/index.ts'
import { unlisted } from './unlisted.ts'

/** `found` is asked each time: a page may lose the API after it was loaded. */
export function projectWebLockStore(found: () => WebLocks, prefix: string, clock: Clock): LeaseStore {
  const locks: WebLocks = {
    request: (...args) => found().request(...args),
    query: () => found().query(),
  }
  const desk = lockDesk(locks, prefix, clock)
  /** By resource: of each, this tab holds one at the most. */
  const leases = new Map<string, LeaseRecord>()

  function heldBy(resource: string, id: string): LeaseRecord | null {
    const lease = leases.get(resource)
    return lease?.id === id && desk.find(id) ? lease : null
  }

  return {
    ...unlisted,
    kind: 'web-lock',
    supports: { queue: true, push: true, expiry: false, list: false },

    async acquire(ask) {
      const { resource, id, owner } = ask
      const hold = await desk.ask(ask)
      if (!hold) return { granted: false, holder: null, place: desk.find(id) ? 0 : null, retryIn: null }
      hold.onStolen = () => ask.lost?.()
      const acquiredAt = clock.now()
      const token = Math.floor(acquiredAt * 1000)
      const forEver = { expiresAt: null, remaining: null, metadata: null } as const
      const lease = { resource, id, owner, token, acquiredAt, ...forEver, state: 'held' } as const
      leases.set(resource, lease)
      return { granted: true, lease }
    },

    async renew({ resource, id }) {
      // The answer comes after the news of a steal that happened before it.
      await locks.query()
      const lease = heldBy(resource, id)
      return lease ? { ok: true, lease } : { ok: false, holder: null }
    },

    async release(by) {
      const id = 'id' in by ? by.id : ''
      const lease = heldBy(by.resource, id)
      await desk.find(id)?.letGo()
      if (lease) leases.delete(by.resource)
      return { ended: lease && { ...lease, state: 'released' }, holder: null }
    },

    read: async (resources) => resources.map((resource) => leases.get(resource) ?? null),
  }
}
