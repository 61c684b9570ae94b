import { expectBoolean, expectObject, expectText, refuse } from '../base/arguments.ts'
import { createChannel } from '../base/channel.ts'
import { expectDuration } from '../base/duration.ts'
import { randomId } from '../base/random-id.ts'
import { workerClock } from '../worker-clock/index.ts'
import { areHeaders, baseUrl } from './api.ts'
import type { DocumentLock, DocumentLockOptions } from './document-lock-types.ts'
import { type DocumentLockState, reduce } from './lock-state.ts'
import { shareLock } from './shared-lock.ts'

let pageId: string | undefined

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
  expectObject('options', options as unknown)
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

  const shared = shareLock({ url, roomId, clientId, clock, headers, name: name || undefined })
  const { room } = shared
  const changes = createChannel<void>()
  const unsubscribe = room.subscribe(() => changes.emit())
  let closedState: DocumentLockState | undefined
  const lock: DocumentLock = {
    get state() {
      return closedState ?? room.state
    },

    subscribe: changes.subscribe,
    load: room.load,
    save: room.save,

    rename(newName) {
      checkName(newName)
      shared.name = newName || undefined
    },

    async acquire(acquireOptions = {}) {
      expectObject('options', acquireOptions as unknown)
      const { wait = 0 } = acquireOptions
      const waitMs = wait === Infinity ? wait : expectDuration('wait', wait, 0)
      return !closedState && shared.acquire(lock, waitMs)
    },

    release: () => shared.release(lock),
    takeOver: () => shared.use(lock, room.takeOver()),
    requestHandOver: () => shared.use(lock, room.requestHandOver()),

    async answer(granted) {
      expectBoolean('granted', granted)
      await room.answer(granted)
    },

    async close() {
      if (closedState) return
      closedState = reduce(room.state, { type: 'released' })
      unsubscribe()
      await shared.close(lock)
    },

    [Symbol.asyncDispose]: () => lock.close(),
  }
  shared.open(lock)
  return lock
}

/** An empty name counts as none. */
function checkName(name: unknown): void {
  if (name) expectText('name', name)
}
