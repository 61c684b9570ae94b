/**
 * What this tab has of the browser's own lock manager, by the ids of those who asked.
 *
 *     ask ──▶ waiting ──its turn──▶ called ──asks again──▶ held ──leave──▶ gone
 *                └──leave──▶ gone      └──a second──▶ gone    └──stolen──▶ gone
 *
 * A lock is held as long as the promise that its callback returned is pending. It ends when we leave, when the tab
 * dies, or when another steals it. The line is the browser's: first in, first out across tabs. A waiter whose turn
 * has come is told, and has a second to ask again.
 */
import type { Ask, Clock } from '../../core/index.ts'
import type { WebLocks } from './platform.ts'

const RESERVATION_MS = 1000

export interface Hold {
  phase: 'waiting' | 'called' | 'held' | 'gone'
  /** Called when another steals the lock; not when we let it go. */
  onStolen: () => void
  /** Resolves when the browser has been told: who asks before that finds the lock still held. */
  letGo(): Promise<void>
}

export interface LockDesk {
  /** The lock, if it is free or this id's turn has come; else `null`, and in line if there is a `wake`. */
  ask(ask: Pick<Ask, 'resource' | 'id' | 'wake'>): Promise<Hold | null>
  /** Takes the lock if it is free, or from whoever has it. */
  take(id: string, resource: string, how: { ifAvailable: true } | { steal: true }): Promise<Hold | null>
  /** What each id has, be it a place in line. */
  readonly holds: ReadonlyMap<string, Hold>
}

/** `locks` is asked each time: a page may lose the API after it was loaded. */
export function lockDesk(locks: () => WebLocks, prefix: string, clock: Clock): LockDesk {
  const holds = new Map<string, Hold>()

  /** Rejects if the request is refused; a lock that was granted is never refused any more, only stolen. */
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
        holds.delete(id)
        end()
        return ended
      },
    }
    const onGranted = (lock: unknown) => {
      if (!lock || hold.phase === 'gone') return onLock(null)
      hold.phase = 'held'
      holds.set(id, hold)
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
          holds.delete(id)
          if (phase === 'waiting') throw error
          if (phase !== 'gone') hold.onStolen()
        },
      )
    return ended
  }

  const take: LockDesk['take'] = (id, resource, how) =>
    new Promise((resolve, reject) => request(id, resource, how, resolve).catch(reject))

  return {
    holds,
    take,

    async ask({ resource, id, wake }) {
      const own = holds.get(id)
      if (own) {
        if (own.phase === 'waiting') return null
        own.phase = 'held'
        return own
      }
      const taken = await take(id, resource, { ifAvailable: true })
      if (taken || !wake) return taken
      const onTurn = (hold: Hold | null) => {
        if (!hold) return
        hold.phase = 'called'
        clock.setTimer(() => {
          if (hold.phase === 'called') hold.letGo()
        }, RESERVATION_MS)
        wake(0)
      }
      const leaving = new AbortController()
      // Either we left, or the page may not wait: then the next ask says why.
      request(id, resource, leaving, onTurn, () => leaving.abort()).catch(() => {})
      return null
    },
  }
}
