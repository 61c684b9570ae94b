/**
 * What this tab has of the browser's own lock manager, by the ids of those who asked.
 *
 *     ask ──▶ in line ──its turn──▶ in hand ──asks again──▶ held ──leave──▶ free
 *                └──leave──▶ gone       └──a second──▶ free     └──stolen──▶ ended
 *
 * A lock is held as long as the promise that its callback returned is pending. It ends when we leave, when the tab
 * dies, or when another steals it. The line is the browser's: first in, first out across tabs. A waiter whose turn
 * has come is told, and has a second to ask again.
 */
import type { Ask, Clock } from '../../core/index.ts'
import type { WebLocks } from './platform.ts'

const RESERVATION_MS = 1000

export interface Hold {
  /** False once it was let go or stolen. */
  readonly live: boolean
  /** Called when another steals the lock; not when we let it go. */
  onStolen: () => void
  letGo(): void
}

export interface LockDesk {
  /** The lock, if it is free or this id's turn has come; else `null`, and in line if there is a `wake`. */
  ask(ask: Pick<Ask, 'resource' | 'id' | 'wake'>): Promise<Hold | null>
  /** Takes the lock from whoever has it. */
  steal(ask: Pick<Ask, 'resource' | 'id'>): Promise<Hold | null>
  holdOf(id: string): Hold | null
  isWaiting(id: string): boolean
  /** Gives up what the id has. */
  leave(id: string): void
  leaveAll(): void
}

export function lockDesk(locks: WebLocks, prefix: string, clock: Clock): LockDesk {
  const holds = new Map<string, Hold>()
  const places = new Map<string, Place>()

  async function take(id: string, name: string, how: RequestOptions): Promise<Hold | null> {
    const hold = await new Promise<Hold | null>((resolve, reject) => {
      request(locks, name, how, resolve).catch(reject)
    })
    if (hold) holds.set(id, hold)
    return hold
  }

  function holdOf(id: string): Hold | null {
    const hold = holds.get(id)
    return hold?.live ? hold : null
  }

  function leave(id: string): void {
    holds.get(id)?.letGo()
    holds.delete(id)
    places.get(id)?.leave()
    places.delete(id)
  }

  return {
    holdOf,
    leave,
    isWaiting: (id) => places.has(id),

    async ask({ resource, id, wake }) {
      const name = prefix + resource
      const turn = holdOf(id) ?? places.get(id)?.claim()
      if (turn) {
        places.delete(id)
        holds.set(id, turn)
        return turn
      }
      if (places.get(id)?.isOpen) return null
      const hold = await take(id, name, { ifAvailable: true })
      if (!hold && wake) places.set(id, stand(locks, name, clock, wake))
      return hold
    },

    steal: ({ resource, id }) => take(id, prefix + resource, { steal: true }),

    leaveAll() {
      for (const id of [...holds.keys(), ...places.keys()]) leave(id)
    },
  }
}

type RequestOptions = Parameters<WebLocks['request']>[1]

interface Place {
  /** In line, or in hand and not yet claimed. */
  readonly isOpen: boolean
  /** The lock, if it is in hand. */
  claim(): Hold | null
  leave(): void
}

function stand(locks: WebLocks, name: string, clock: Clock, wake: (inMs: number) => void): Place {
  const leaving = new AbortController()
  let inHand: Hold | null = null
  let cancelTimer = () => {}
  const place = {
    isOpen: true,
    claim() {
      if (!inHand?.live) return null
      close()
      return inHand
    },
    leave() {
      close()
      inHand?.letGo()
      leaving.abort(new Error('left the line'))
    },
  }
  const close = () => {
    place.isOpen = false
    cancelTimer()
  }
  const onTurn = (hold: Hold | null) => {
    inHand = hold
    if (!place.isOpen) return hold?.letGo()
    cancelTimer = clock.setTimer(place.leave, RESERVATION_MS)
    wake(0)
  }
  // Either we left, or the page may not wait: then the next ask says why.
  request(locks, name, { signal: leaving.signal }, onTurn).catch(close)
  return place
}

function request(
  locks: WebLocks,
  name: string,
  how: RequestOptions,
  onLock: (hold: Hold | null) => void,
): Promise<void> {
  let end: (() => void) | undefined
  const hold = {
    live: true,
    onStolen: () => {},
    letGo() {
      hold.live = false
      end?.()
    },
  }
  const onGranted = (lock: unknown) => {
    if (lock === null) return onLock(null)
    const held = new Promise<void>((resolve) => {
      end = resolve
    })
    onLock(hold)
    return held
  }
  return locks.request(name, how, onGranted).then(
    () => {},
    (error) => {
      // An aborted request and a stolen lock reject alike; they differ in whether we had it.
      if (!end) throw error
      if (!hold.live) return
      hold.live = false
      hold.onStolen()
    },
  )
}
