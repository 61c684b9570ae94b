import type { FrozenTabs } from '../browser/frozen-tabs.ts'
import type { HeldLock, LeaseLocks, NamedLease } from './lease-locks.ts'

/** The leases of this tab. Each holds the main lock of its resource and a lock of its own. */
export interface LeaseHolds {
  /** By the ids of the leases. */
  readonly byId: ReadonlyMap<string, HeldLock>
  /** `null`: the locks are not available. */
  take(lease: NamedLease, from: LockOwners): Promise<HeldLock | null>
  /** Takes the locks of these leases away. `main`: also the main lock, from everybody who holds it. */
  evict(resource: string, leases: Iterable<NamedLease>, main: boolean): Promise<void>
}

/** From whom locks are taken by force. */
export interface LockOwners {
  /** Leases that end. Absent: none do. */
  readonly victims?: Iterable<NamedLease> | undefined
  /** Tabs that may still hold the main lock, though their leases were ended. */
  readonly isEvicted?: boolean | undefined
}

/** All of it is called under the gate of the resource. `onStolen`: another tab took a lock of the lease with this id. */
export function leaseHolds(
  native: LeaseLocks,
  frozen: FrozenTabs,
  onStolen: (id: string) => void,
): LeaseHolds {
  const byId = new Map<string, HeldLock>()

  async function evict(resource: string, leases: Iterable<NamedLease>, main: boolean): Promise<void> {
    const stolen = Array.from(leases, (lease) => native.own(lease, { steal: true }))
    if (main) stolen.push(native.main(resource, { steal: true }))
    await Promise.all(stolen.map(async (lock) => (await lock)?.letGo()))
  }

  return {
    byId,
    evict,

    async take(lease, { victims, isEvicted = false }) {
      const { resource, id, share } = lease
      let isLost = false
      let hold: HeldLock | undefined
      const lose = () => {
        isLost = true
        void hold?.letGo()
        onStolen(id)
      }
      if (victims || (isEvicted && share === null)) await evict(resource, victims ?? [], true)
      const mode = share === null ? 'exclusive' : 'shared'
      const outcomes = await Promise.allSettled([
        native.main(resource, { mode, ifAvailable: true }, lose),
        native.own(lease, { ifAvailable: true }, lose),
      ])
      const taken = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' && outcome.value) || [])
      const letGo = async () => {
        if (byId.get(id) === hold) {
          byId.delete(id)
          frozen.delete(id)
        }
        await Promise.all(taken.map((lock) => lock.letGo()))
      }
      if (taken.length < outcomes.length || isLost) {
        await letGo()
        for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
        return null
      }
      hold = { letGo }
      byId.set(id, hold)
      frozen.add(id)
      return hold
    },
  }
}
