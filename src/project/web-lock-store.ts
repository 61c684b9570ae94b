/**
 * The port on a Web Lock alone. A project lease shows neither token nor holder, so nothing is stored beside the lock,
 * and taking it costs one request.
 */
import type { Clock, LeaseRecord, LeaseStore } from '../core/index.ts'
import { tabLocks, type WebLocks } from '../stores/browser/index.ts'
import { unlisted } from './unlisted.ts'

export function projectWebLockStore(locks: () => WebLocks, prefix: string, clock: Clock): LeaseStore {
  const desk = tabLocks(locks, prefix, clock)
  /** Those that are held, by their ids. */
  const leases = new Map<string, LeaseRecord>()

  return {
    ...unlisted,
    kind: 'web-lock',
    supports: { queue: true, push: true, expiry: false, list: false },

    async acquire(ask) {
      const { resource, id, owner } = ask
      const hold = await desk.ask(ask)
      if (!hold) return { granted: false, holder: null, place: desk.holds.has(id) ? 0 : null, retryIn: null }
      hold.onStolen = () => {
        leases.delete(id)
        ask.lost?.()
      }
      const acquiredAt = clock.now()
      const token = acquiredAt * 1000
      const forEver = { expiresAt: null, remaining: null, metadata: null } as const
      const lease = { resource, id, owner, token, acquiredAt, ...forEver, state: 'held' } as const
      leases.set(id, lease)
      return { granted: true, lease }
    },

    async renew({ id }) {
      // The answer comes after the news of a steal that happened before it.
      await locks().query()
      const lease = leases.get(id)
      return lease ? { ok: true, lease } : { ok: false, holder: null }
    },

    async release({ id }: { resource: string; id: string }) {
      const lease = leases.get(id)
      leases.delete(id)
      await desk.holds.get(id)?.letGo()
      return { ended: lease ? { ...lease, state: 'released' } : null, holder: null }
    },
  }
}
