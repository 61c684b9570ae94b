import { expectFunction } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { randomId } from '../base/random-id.ts'
import type { DocumentLock } from './document-lock-types.ts'
import {
  type CheckedLockOptions,
  checkAcquireOptions,
  checkLockOptions,
  checkName,
  type DocumentLockOptions,
  type DocumentLockRoomOptions,
} from './options.ts'
import type { ReleaseStep } from './release-steps.ts'
import { type DemandMethod, RoomLock } from './room-lock.ts'

/** Identifies this page, for all its locks. */
let pageId: string | undefined
/** The locks of this page, by address, room and client id. */
const roomLocks = new Map<string, RoomLock>()
/** Those that are being closed, and still tell the server so. */
const closings = new Map<string, Promise<void>>()

/**
 * The lock of one document for one tab: acquire, edit, save. Everybody else sees who is editing. Lock objects of one
 * page for the same document share the lock. It is released when none of them uses it any more.
 *
 * @example
 * const lock = createDocumentLock('minutes-42', { name: 'Mika' })
 * lock.subscribe(() => render(lock.state))
 * if (await lock.acquire({ wait: '30s' })) await lock.save(text)
 */
export function createDocumentLock(roomId: string, options?: DocumentLockOptions): DocumentLock
export function createDocumentLock(options: DocumentLockRoomOptions): DocumentLock
export function createDocumentLock(
  first: string | DocumentLockRoomOptions,
  second: DocumentLockOptions = {},
): DocumentLock {
  const options = checkLockOptions(first, second)
  const { url, roomId } = options
  const { key, room } = roomOf(options)
  const { view } = room
  const use = createLockUse(key, room)
  const lock: DocumentLock = {
    url,
    roomId,

    get state() {
      return view.state
    },

    subscribe(listener) {
      expectFunction('listener', listener)
      return view.subscribe(() => use.isClosed() || listener())
    },

    load: room.load,

    async save(content) {
      if (use.isClosed()) throw new LeaseError('closed', 'this lock was closed')
      await room.save(content)
    },

    rename(name) {
      checkName(name)
      room.rename(name)
    },

    beforeRelease: use.beforeRelease,
    acquire: use.acquire,
    release: use.release,

    takeover: () => use.demand('takeover'),
    requestHandoff: () => use.demand('requestHandoff'),
    takeOver: () => use.demand('takeOver'),
    requestHandOver: () => use.demand('requestHandOver'),

    answer: (answer) => room.answer(answer),
    touch: () => room.holding?.touch(),
    close: use.close,
    [Symbol.asyncDispose]: use.close,
  }
  return lock
}

/** The lock of the page for this document, opened by the first of its lock objects. */
function roomOf(options: CheckedLockOptions): { readonly key: string; readonly room: RoomLock } {
  pageId ??= randomId()
  const { url, roomId, clientId = pageId, clock, headers, name, idleAfterMs } = options
  const key = JSON.stringify([url, roomId, clientId])
  const open = roomLocks.get(key)
  const isShared = open?.clock === clock
  const former = closings.get(key)
  const isFollowed = () => ![undefined, room].includes(roomLocks.get(key))
  const room: RoomLock = isShared ? open : new RoomLock({ ...options, clientId, former, isFollowed })
  if (isShared) room.headers = headers
  if (isShared && name) room.rename(name)
  if (isShared && idleAfterMs) room.idleAfterMs = idleAfterMs
  roomLocks.set(key, room)
  return { key, room }
}

/** What one lock object does with the lock that it shares with others. */
interface LockUse extends Pick<DocumentLock, 'acquire' | 'release' | 'beforeRelease' | 'close'> {
  demand(method: DemandMethod): Promise<boolean>
  /** `close` was called, and its steps are done. */
  isClosed(): boolean
}

function createLockUse(key: string, room: RoomLock): LockUse {
  const { users, objects, view } = room
  /** What this object does before it gives the lock up. */
  const ownSteps = new Set<ReleaseStep>()
  let closing: Promise<void> | undefined
  let isClosed = false
  /** This object's use of the lock: its call of `acquire`, and later its lock. */
  let use = {}
  let giveUp = () => {}
  const lockUse: LockUse = {
    isClosed: () => isClosed,
    release,

    beforeRelease(work) {
      expectFunction('work', work)
      const step = { work }
      ownSteps.add(step)
      room.steps.add(step)
      return () => {
        ownSteps.delete(step)
        room.steps.delete(step)
      }
    },

    async acquire(options = {}) {
      const waitMs = checkAcquireOptions(options)
      if (closing) return false
      const own = {}
      room.holding?.dropLost()
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

    async demand(method) {
      const isGranted = await room.demand(method)
      if (isGranted) users.add(use)
      return isGranted
    },

    close() {
      closing ??= end()
      return closing
    },
  }
  objects.add(lockUse)
  return lockUse

  async function release(): Promise<void> {
    const ended = use
    giveUp()
    const done = room.holding?.runSteps(ownSteps)
    if (done) await done
    users.delete(ended)
    if (users.size === 0) await room.release()
  }

  async function end(): Promise<void> {
    giveUp()
    const done = room.holding?.runSteps(ownSteps)
    if (done) await done
    isClosed = true
    for (const step of ownSteps) room.steps.delete(step)
    ownSteps.clear()
    objects.delete(lockUse)
    await (objects.size > 0 ? release() : closeRoom(key, room))
  }
}

async function closeRoom(key: string, room: RoomLock): Promise<void> {
  if (roomLocks.get(key) === room) roomLocks.delete(key)
  const ending = room.close()
  closings.set(key, ending)
  await ending
  if (closings.get(key) === ending) closings.delete(key)
}
