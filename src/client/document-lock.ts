import {
  expectBoolean,
  expectFunction,
  expectOptions,
  expectText,
  isObject,
  refuse,
} from '../base/arguments.ts'
import { expectDuration } from '../base/duration.ts'
import { LeaseError } from '../base/errors.ts'
import { randomId } from '../base/random-id.ts'
import { workerClock } from '../worker-clock/index.ts'
import { areHeaders, baseUrl } from './api.ts'
import type { DocumentLock, DocumentLockOptions, DocumentLockRoomOptions } from './document-lock-types.ts'
import type { ReleaseStep } from './release-steps.ts'
import { type DemandMethod, openRoomLock, type RoomLock } from './room-lock.ts'

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
  // With the room in the options, as before.
  const whole = isObject(first) ? (first as DocumentLockRoomOptions) : undefined
  const options: DocumentLockOptions = whole ?? second
  expectOptions(options, {
    url: 1,
    name: 1,
    headers: 1,
    clientId: 1,
    idleAfter: 1,
    presence: 1,
    clock: 1,
    ...(whole && { roomId: 1 }),
  })
  const roomId = whole ? whole.roomId : first
  const { name, headers = {}, idleAfter, presence = false, clock = workerClock() } = options
  expectText('roomId', roomId)
  // In the path of a request they would be another document.
  if (/^\.\.?$/.test(roomId)) refuse('roomId', 'a name other than . and ..', roomId)
  checkName(name)
  const idleAfterMs = idleAfter === undefined ? undefined : expectDuration('idleAfter', idleAfter, 1000)
  expectBoolean('presence', presence)
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
  const former = closings.get(key)
  const isFollowed = () => ![undefined, room].includes(roomLocks.get(key))
  const room: RoomLock = isShared
    ? open
    : openRoomLock({ url, roomId, clientId, clock, headers, name, idleAfterMs, presence, former, isFollowed })
  if (isShared) room.sender.headers = headers
  if (isShared && name) room.rename(name)
  if (isShared && idleAfterMs) room.sender.idleAfterMs = idleAfterMs
  const { users, objects, view } = room
  roomLocks.set(key, room)
  /** What this object does before it gives the lock up. */
  const ownSteps = new Set<ReleaseStep>()
  let closing: Promise<void> | undefined
  /** `close` was called, and its steps are done. */
  let isClosed = false
  /** This object's use of the lock: its call of `acquire`, and later its lock. */
  let use = {}
  let giveUp = () => {}

  const demand = async (method: DemandMethod) => {
    const isGranted = await room.demand(method)
    if (isGranted) users.add(use)
    return isGranted
  }
  const lock: DocumentLock = {
    url,
    roomId,

    get state() {
      return view.state
    },

    subscribe(listener) {
      expectFunction('listener', listener)
      return view.subscribe(() => isClosed || listener())
    },

    load: room.load,

    async save(content) {
      if (isClosed) throw new LeaseError('closed', 'this lock was closed')
      await room.save(content)
    },

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

    rename(newName) {
      checkName(newName)
      room.rename(newName)
    },

    async acquire(acquireOptions = {}) {
      expectOptions(acquireOptions, { wait: 1 })
      const { wait = 0 } = acquireOptions
      const waitMs = wait === Infinity ? wait : expectDuration('wait', wait, 0)
      if (closing) return false
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
      const ended = use
      giveUp()
      const done = room.runSteps(ownSteps)
      if (done) await done
      users.delete(ended)
      if (users.size === 0) await room.release()
    },

    takeover: () => demand('takeover'),
    requestHandoff: () => demand('requestHandoff'),
    takeOver: () => demand('takeOver'),
    requestHandOver: () => demand('requestHandOver'),

    answer: room.answer,
    touch: room.touch,

    close() {
      closing ??= end()
      return closing
    },

    [Symbol.asyncDispose]: () => lock.close(),
  }
  objects.add(lock)
  return lock

  async function end(): Promise<void> {
    giveUp()
    const done = room.runSteps(ownSteps)
    if (done) await done
    isClosed = true
    for (const step of ownSteps) room.steps.delete(step)
    ownSteps.clear()
    objects.delete(lock)
    if (objects.size > 0) return lock.release()
    if (roomLocks.get(key) === room) roomLocks.delete(key)
    const ending = room.close()
    closings.set(key, ending)
    await ending
    if (closings.get(key) === ending) closings.delete(key)
  }
}

/** An empty name counts as none. */
function checkName(name: unknown): void {
  if (name) expectText('name', name)
}
