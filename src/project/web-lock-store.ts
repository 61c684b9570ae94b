/**
 * The holding half of the port, on Web Locks alone. A project lease shows neither token nor holder, so nothing is
 * stored in addition to the lock, and an acquisition costs one request.
 */
import type { Clock } from '../base/clock.ts'
import type { HoldingStore } from '../core/index.ts'
import type { WebLocks } from '../stores/browser/platform.ts'
import { tabLocks } from '../stores/browser/tab-locks.ts'
import type { Claim } from './claim.ts'
import { describe } from './project-lease.ts'

export interface ProjectWebLockStore extends HoldingStore {
  /** Whether another tab may have taken the lock, because this tab was silent for too long. */
  wasSilent(): boolean
}

export function projectWebLockStore(
  locks: () => WebLocks,
  prefix: string,
  clock: Clock,
  takeoverMs: number,
  claims: ReadonlyMap<string, Claim>,
): ProjectWebLockStore {
  const webLocks = tabLocks(locks, prefix, clock, takeoverMs)
  const leaseOf = (resource: string, id: string, owner = id) => describe(resource, { id, owner }, clock.now())

  return {
    kind: 'web-lock',
    wasSilent: webLocks.wasSilent,
    supports: { queue: true, push: true, expiry: false, list: false, share: false },

    async acquire(ask) {
      const { resource, id, owner, lost } = ask
      const hold = await (claims.get(owner)?.steal
        ? webLocks.take(id, resource, { steal: true })
        : webLocks.ask(ask))
      if (!hold)
        return { granted: false, holders: [], place: webLocks.holds.has(id) ? 0 : null, retryIn: null }
      if (lost) hold.onStolen = lost
      return { granted: true, lease: leaseOf(resource, id, owner) }
    },

    async renew({ resource, id }) {
      // A steal that happened before this call is reported before its answer.
      await locks().query()
      return webLocks.holds.has(id) ? { ok: true, lease: leaseOf(resource, id) } : { ok: false, holders: [] }
    },

    async release({ resource, id }: { resource: string; id: string }) {
      const hold = webLocks.holds.get(id)
      await hold?.letGo()
      return { ended: hold ? { ...leaseOf(resource, id), state: 'released' } : null, holders: [] }
    },

    async close() {},
  }
}
