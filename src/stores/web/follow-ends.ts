/**
 * A tab that is closed releases nothing, and tells nobody. So a store with waiters asks the browser to tell it when the
 * locks of the leases before them are free.
 */
import type { LocalListeners } from '../local/listeners.ts'
import type { LeaseLocks, NamedLease } from './lease-locks.ts'

export interface EndFollower {
  follow(lease: NamedLease): void
  close(): void
}

/**
 * `onEnd` is called when a lease has ended without a message, and somebody here waits for its resource. `evictIfFrozen`
 * ends the lease of a frozen tab while somebody waits here.
 */
export function followEnds(
  native: LeaseLocks,
  listeners: LocalListeners,
  onEnd: (resource: string) => Promise<void>,
  evictIfFrozen: (lease: NamedLease, isAwaited: () => boolean, signal: AbortSignal) => void,
): EndFollower {
  const followed = new Map<string, AbortController>()
  const isAwaited = (resource: string) => listeners.waiting().some((waiter) => waiter.resource === resource)

  function follow(lease: NamedLease): void {
    const key = keyOf(lease)
    if (followed.has(key)) return
    const leaving = new AbortController()
    followed.set(key, leaving)
    evictIfFrozen(lease, () => isAwaited(lease.resource), leaving.signal)
    native
      .ended(lease, leaving.signal)
      .then(async () => {
        followed.delete(key)
        leaving.abort()
        if (isAwaited(lease.resource)) await onEnd(lease.resource)
      })
      // A waiter also asks again by itself.
      .catch(() => {})
  }

  listeners.watch((event) => {
    if (event.type === 'gap') return
    const { lease } = event
    if (lease.state === 'held') {
      if (isAwaited(lease.resource)) follow(lease)
      return
    }
    followed.get(keyOf(lease))?.abort()
    followed.delete(keyOf(lease))
  })

  return {
    follow,
    close() {
      for (const leaving of followed.values()) leaving.abort()
      followed.clear()
    },
  }
}

function keyOf({ resource, id }: NamedLease): string {
  return `${resource}\t${id}`
}
