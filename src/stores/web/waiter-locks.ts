/**
 * Who waits. The browser shows only the names of Web Locks, so each waiter also holds a lock whose name says who it is,
 * for which resource and since when it waits. That lock ends with the tab of the waiter.
 */
import type { Clock } from '../../base/clock.ts'
import type { Ask, WaitingQuery, WaitingQueue } from '../../core/index.ts'
import type { WebLocks } from '../browser/index.ts'
import { waitingIn } from '../lease-row.ts'

interface Waiter {
  readonly resource: string
  readonly id: string
  readonly owner: string
  /** Wall time, which all tabs share. */
  readonly since: number
  /** The order of waiters of one store. */
  readonly nth: number
}

export interface WaiterLocks {
  /** Takes the last place. Resolves when the others can see it. */
  join(ask: Pick<Ask, 'resource' | 'id' | 'owner'>): Promise<void>
  leave(id: string): void
  waiting(query: WaitingQuery): Promise<WaitingQueue[]>
  close(): void
}

export function waiterLocks(locks: WebLocks, storePrefix: string, clock: Clock): WaiterLocks {
  // The name of a resource has no control characters, so no other lock has such a name.
  const prefix = `${storePrefix}\u0002`
  const ends = new Map<string, () => void>()
  let joined = 0

  function leave(id: string): void {
    ends.get(id)?.()
    ends.delete(id)
  }

  return {
    leave,

    join({ resource, id, owner }) {
      leave(id)
      const left = new Promise<void>((resolve) => ends.set(id, resolve))
      const waiter: Waiter = { resource, id, owner, since: clock.now(), nth: joined++ }
      return new Promise((resolve) => {
        const onHeld = () => {
          resolve()
          return left
        }
        // If the browser refuses the lock, the waiter waits all the same, and is not shown.
        locks.request(prefix + JSON.stringify(waiter), {}, onHeld).catch(() => resolve())
      })
    },

    async waiting({ resources, limit }) {
      const { held = [] } = await locks.query()
      const waiters = held
        .map(({ name = '' }) => (name.startsWith(prefix) ? parseWaiter(name.slice(prefix.length)) : null))
        .filter((waiter) => waiter !== null)
        .sort((a, b) => a.since - b.since || a.nth - b.nth)
      const byResource = Map.groupBy(waiters, ({ resource }) => resource)
      return resources.map((resource) => waitingIn(byResource.get(resource) ?? [], limit))
    },

    close() {
      for (const id of [...ends.keys()]) leave(id)
    },
  }
}

/** Every page of the origin can take such a lock. */
function parseWaiter(text: string): Waiter | null {
  try {
    const waiter = Object(JSON.parse(text))
    const { resource, id, owner, since, nth } = waiter
    const isText = [resource, id, owner].every((value) => typeof value === 'string')
    return isText && Number.isFinite(since) && Number.isFinite(nth) ? waiter : null
  } catch {
    return null
  }
}
