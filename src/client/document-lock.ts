import { expectBoolean, expectFunction, expectOptions, expectText, refuse } from '../base/arguments.ts'
import { expectDuration } from '../base/duration.ts'
import { randomId } from '../base/random-id.ts'
import { workerClock } from '../worker-clock/index.ts'
import { areHeaders, baseUrl } from './api.ts'
import type { DocumentLock, DocumentLockOptions } from './document-lock-types.ts'
import { openRoomLock, type RoomLock } from './room-lock.ts'

/** Identifies this page, for all its locks. */
let pageId: string | undefined
/** The locks of this page, by address, room and client id. */
const roomLocks = new Map<string, RoomLock>()

/**
 * The lock of one document for one tab: acquire, edit, save. Everybody else sees who is editing. Lock objects of one
 * page for the same document share the lock. It is released when none of them uses it any more.
 *
 * @example
 * const lock = createDocumentLock({ roomId: 'minutes-42', name: 'Mika' })
 * lock.subscribe(() => render(lock.state))
 * if (await lock.acquire({ wait: '30s' })) await lock.save(text)
 */
export function createDocumentLock(options: DocumentLockOptions): DocumentLock {
  expectOptions(options, { url: 1, roomId: 1, name: 1, headers: 1, clientId: 1, clock: 1 })
  const { roomId, name, headers = {}, clock = workerClock() } = options
  expectText('roomId', roomId)
  checkName(name)
  // A promise is checked when it has resolved.
  const isLater = typeof headers === 'function' || 'then' in Object(headers)
  if (!isLater && !areHeaders(headers)) refuse('headers', 'HTTP headers', headers)
  const url = baseUrl(options.url ?? globalThis.location?.origin)
  pageId ??= randomId()
  const { clientId = pageId } = options
  expectText('clientId', clientId)

  const key = JSON.stringify([url, roomId, clientId])
  const open = roomLocks.get(key)
  const isShared = open?.clock === clock
  const room = isShared ? open : openRoomLock({ url, roomId, clientId, clock, headers, name })
  if (isShared) Object.assign(room.sender, { headers, ...(name && { name }) })
  const { users, objects, view } = room
  roomLocks.set(key, room)
  let isClosed = false
  /** This object's use of the lock: its call of `acquire`, and later its lock. */
  let use = {}
  let giveUp = () => {}

  const demand = async (outcome: Promise<boolean>) => {
    const isGranted = await outcome
    if (isGranted) users.add(use)
    return isGranted
  }
  const lock: DocumentLock = {
    get state() {
      return view.state
    },

    subscribe(listener) {
      expectFunction('listener', listener)
      return view.subscribe(() => isClosed || listener())
    },

    load: room.load,
    save: room.save,

    rename(newName) {
      checkName(newName)
      room.sender.name = newName
    },

    async acquire(acquireOptions = {}) {
      expectOptions(acquireOptions, { wait: 1 })
      const { wait = 0 } = acquireOptions
      const waitMs = wait === Infinity ? wait : expectDuration('wait', wait, 0)
      if (isClosed) return false
      const own = {}
      room.dropLost()
      users.add(own).delete(use)
      use = own
      giveUp()
      const givenUp = new Promise<boolean>((resolve) => {
        giveUp = () => resolve(false)
      })
      const isGranted = await Promise.race([room.acquire(waitMs), givenUp])
      if (isGranted) return true
      users.delete(own)
      // The call of another object waits on, but that object has given up.
      if (users.size === 0 && ['acquiring', 'waiting'].includes(view.state.phase)) await room.release()
      return false
    },

    async release() {
      users.delete(use)
      giveUp()
      if (users.size === 0) await room.release()
    },

    takeOver: () => demand(room.takeOver()),
    requestHandOver: () => demand(room.requestHandOver()),

    async answer(granted) {
      expectBoolean('granted', granted)
      await room.answer(granted)
    },

    async close() {
      isClosed = true
      objects.delete(lock)
      if (objects.size > 0) return lock.release()
      if (roomLocks.get(key) === room) roomLocks.delete(key)
      await room.close()
    },

    [Symbol.asyncDispose]: () => lock.close(),
  }
  objects.add(lock)
  return lock
}

/** An empty name counts as none. */
function checkName(name: unknown): void {
  if (name) expectText('name', name)
}
