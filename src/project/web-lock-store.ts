/**
 * The holding half of the port, on Web Locks alone. A project lease shows neither token nor holder, so nothing is
 * stored in addition to the lock, and an acquisition costs one request.
 */
import type { Clock } from '../base/clock.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { HoldingStore } from '../core/index.ts'
import { tabLocks, type WebLocks } from '../stores/browser/index.ts'

export function projectWebLockStore(
  locks: () => WebLocks,
  prefix: string,
  clock: Clock,
  steals: ReadonlySet<string>,
): HoldingStore {
  const webLocks = tabLocks(locks, prefix, clock)
  /** The held leases, by id. */
  const leases = new Map<string, LeaseRecord>()

  return {
    kind: 'web-lock',
    supports: { queue: true, push: true, expiry: false, list: false },

    async acquire(ask) {
      const { resource, id, owner } = ask
      const hold = await (steals.has(owner)
        ? webLocks.take(id, resource, { steal: true })
        : webLocks.ask(ask))
      if (!hold)
        return { granted: false, holder: null, place: webLocks.holds.has(id) ? 0 : null, retryIn: null }
      hold.onStolen = () => {
        leases.delete(id)
        ask.lost?.()
      }
      const acquiredAt = clock.now()
      const lease: LeaseRecord = {
        resource,
        id,
        owner,
        token: acquiredAt * 1000,
        metadata: null,
        acquiredAt,
        expiresAt: null,
        remaining: null,
        state: 'held',
      }
      leases.set(id, lease)
      return { granted: true, lease }
    },

    async renew({ id }) {
      // A steal that happened before this call is reported before its answer.
      await locks().query()
      const lease = leases.get(id)
      return lease ? { ok: true, lease } : { ok: false, holder: null }
    },

    async release({ id }: { resource: string; id: string }) {
      const lease = leases.get(id)
      leases.delete(id)
      await webLocks.holds.get(id)?.letGo()
      return { ended: lease ? { ...lease, state: 'released' } : null, holder: null }
    },

    async close() {},
  }
}
