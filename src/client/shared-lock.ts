import { orAborted } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import type { HeadersOption } from './api.ts'
import { openRoomLock, type RoomLock } from './room-lock.ts'

export interface SharedLockOptions {
  readonly url: string
  readonly roomId: string
  readonly clientId: string
  readonly clock: Clock
  readonly name: string | undefined
  readonly headers: HeadersOption
}

const openLocks = new Map<string, SharedLock>()

/** The lock of the room that this page has already, or a new one. */
export function shareLock(options: SharedLockOptions): SharedLock {
  const key = JSON.stringify([options.url, options.roomId, options.clientId])
  const open = openLocks.get(key)
  if (open?.clock === options.clock) {
    open.name = options.name ?? open.name
    open.headers = options.headers
    return open
  }
  const lock = new SharedLock(options, () => openLocks.get(key) === lock && openLocks.delete(key))
  openLocks.set(key, lock)
  return lock
}

/** One lock for all lock objects of a page with the same address, room and client id. */
export class SharedLock {
  readonly room: RoomLock
  readonly clock: Clock
  /** The latest name and headers of any object. */
  name: string | undefined
  headers: HeadersOption
  readonly #onClose: () => void
  readonly #objects = new Set<object>()
  /** The objects that use the lock, with the token that they were granted. */
  readonly #users = new Map<object, number | null>()
  readonly #waiters = new Map<object, AbortController>()
  /** The call that waits in the queue for all waiters. */
  #call: { readonly by: object; readonly until: number; readonly outcome: Promise<boolean> } | undefined

  constructor(options: SharedLockOptions, onClose: () => void) {
    this.clock = options.clock
    this.name = options.name
    this.headers = options.headers
    this.#onClose = onClose
    this.room = openRoomLock({
      ...options,
      name: () => this.name,
      headers: () => (typeof this.headers === 'function' ? this.headers() : this.headers),
    })
  }

  open(object: object): void {
    this.#objects.add(object)
  }

  async acquire(object: object, waitMs: number): Promise<boolean> {
    this.#waiters.get(object)?.abort()
    const stop = new AbortController()
    this.#waiters.set(object, stop)
    const outcome = this.#wait(object, waitMs, stop).catch(() => false)
    const isGranted = await this.use(object, outcome)
    if (this.#waiters.get(object) === stop) this.#waiters.delete(object)
    // The call of another object that has given up since.
    if (!isGranted && this.#call) await this.#releaseUnused()
    return isGranted
  }

  /** If it succeeds, the object uses the lock. */
  async use(object: object, outcome: Promise<boolean>): Promise<boolean> {
    const isGranted = (await outcome) && this.#objects.has(object)
    if (isGranted) this.#users.set(object, this.room.state.token)
    return isGranted
  }

  async release(object: object): Promise<void> {
    this.#waiters.get(object)?.abort()
    this.#waiters.delete(object)
    this.#users.delete(object)
    await this.#releaseUnused()
  }

  async close(object: object): Promise<void> {
    this.#objects.delete(object)
    if (this.#objects.size > 0) return this.release(object)
    this.#onClose()
    await this.room.close()
  }

  /** If several objects wait, the call with the longest wait counts for all of them. */
  async #wait(object: object, waitMs: number, stop: AbortController): Promise<boolean> {
    const { clock, room } = this
    const until = clock.monotonic() + waitMs
    if (!this.#call || this.#call.by === object || this.#call.until < until)
      this.#start(object, until, waitMs)
    else if (waitMs > 0) clock.setTimer(() => stop.abort(), waitMs, true)
    else if (room.state.phase === 'waiting') return false
    for (;;) {
      const call = this.#call
      const isGranted = call ? await orAborted(call.outcome, stop.signal) : false
      // A longer call of another object has replaced this one.
      if (isGranted || call === this.#call || !this.#call) return isGranted
    }
  }

  #start(by: object, until: number, waitMs: number): void {
    const call = { by, until, outcome: this.room.acquire(waitMs) }
    this.#call = call
    const end = () => {
      if (this.#call === call) this.#call = undefined
    }
    call.outcome.then(end, end)
  }

  async #releaseUnused(): Promise<void> {
    const { token } = this.room.state
    const isUsed = this.#waiters.size > 0 || [...this.#users.values()].includes(token)
    if (!isUsed) await this.room.release()
  }
}
