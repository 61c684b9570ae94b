/**
 * The Web Locks of this tab, by the ids of those who asked for them.
 *
 *     ask ──▶ waiting ──its turn──▶ called ──asks again──▶ held ──letGo──▶ gone
 *                └──letGo──▶ gone      └──a second──▶ gone   └──stolen──▶ gone
 *
 * A lock is held as long as the promise that its callback returned is pending. It ends when this tab lets it go, when
 * the tab is closed, or when another tab steals it. The browser keeps the queue: first in, first out across tabs.
 * A waiter whose turn has come is woken, and must ask again within a second. A waiter takes the lock from a tab that is
 * frozen: see `frozen-tabs-protocol.ts`.
 */
import type { Clock } from '../../base/clock.ts'
import type { Ask } from '../../core/index.ts'
import { RESERVATION_MS } from '../options.ts'
import { frozenTabs } from './frozen-tabs.ts'
import type { WebLocks } from './platform.ts'

export interface Hold {
  phase: 'waiting' | 'called' | 'held' | 'gone'
  /** Called when another caller steals the lock; not when we let it go. */
  onStolen: () => void
  /** Resolves when the browser knows it. Until then others find the lock held. */
  letGo(): Promise<void>
}

export interface TabLocks {
  /** The lock, if it is free or this id's turn has come. Otherwise `null`; with a `wake`, the id is then in the queue. */
  ask(ask: Pick<Ask, 'resource' | 'id' | 'wake'>): Promise<Hold | null>
  /** Takes the lock if it is free, or steals it. */
  take(id: string, resource: string, how: { ifAvailable: true } | { steal: true }): Promise<Hold | null>
  /** The lock of each id, or its place in the queue. */
  readonly holds: ReadonlyMap<string, Hold>
  /** Whether another tab may have taken the locks of this tab, because it was silent for too long. */
  wasSilent(): boolean
}

/**
 * `locks` is called each time, because a page may lose the API after it was loaded. `takeoverMs`: how long a tab must be
 * silent before its lock is taken; 0: it keeps its lock.
 */
export function tabLocks(locks: () => WebLocks, prefix: string, clock: Clock, takeoverMs: number): TabLocks {
  const holds = new Map<string, Hold>()
  const frozen = frozenTabs(locks, prefix, clock, takeoverMs)

  function remove(id: string): void {
    holds.delete(id)
    frozen.delete(id)
  }

  /** Rejects if the browser refuses the request. A lock that was granted can only be stolen. */
  function request(
    id: string,
    resource: string,
    how: Parameters<WebLocks['request']>[1],
    onLock: (hold: Hold | null) => void,
    onLeave = () => {},
  ): Promise<void> {
    let end = onLeave
    const hold: Hold = {
      phase: 'waiting',
      onStolen() {},
      letGo() {
        hold.phase = 'gone'
        remove(id)
        end()
        return ended
      },
    }
    const onGranted = (lock: unknown) => {
      if (!lock || hold.phase === 'gone') return onLock(null)
      hold.phase = 'held'
      holds.set(id, hold)
      frozen.add(id)
      const held = new Promise<void>((resolve) => {
        end = resolve
      })
      onLock(hold)
      return held
    }
    if (how.signal) holds.set(id, hold)
    const ended = locks()
      .request(prefix + resource, how, onGranted)
      .then(
        () => {},
        (error) => {
          const { phase } = hold
          hold.phase = 'gone'
          remove(id)
          if (phase === 'waiting') throw error
          if (phase !== 'gone') hold.onStolen()
        },
      )
    return ended
  }

  const take: TabLocks['take'] = (id, resource, how) =>
    new Promise((resolve, reject) => request(id, resource, how, resolve).catch(reject))

  return {
    holds,
    take,
    wasSilent: frozen.wasSilent,

    async ask({ resource, id, wake }) {
      const own = holds.get(id)
      if (own) {
        if (own.phase === 'waiting') return null
        own.phase = 'held'
        return own
      }
      const taken = await take(id, resource, { ifAvailable: true })
      if (taken || !wake) return taken
      const leaving = new AbortController()
      // After the grant, it only ends the watch over the holder.
      const leave = () => leaving.abort()
      const onTurn = (hold: Hold | null) => {
        leave()
        if (!hold) return
        hold.phase = 'called'
        clock.setTimer(() => {
          if (hold.phase === 'called') hold.letGo()
        }, RESERVATION_MS)
        wake(0)
      }
      // Either the waiter has left, or the browser refuses the request: then the next ask says why.
      request(id, resource, leaving, onTurn, leave).catch(leave)
      frozen.watch({ name: prefix + resource }, leaving.signal)
      return null
    },
  }
}
