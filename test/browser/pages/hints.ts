/** A document lock at an address that may not be a server. */
import { createDocumentLock, type DocumentLock } from '../../../src/client/index.ts'

let lock: DocumentLock

export const scenarios = {
  /** `url`: default is the origin of the page. Resolves with the phase after two requests. */
  async acquireTwice(url?: string) {
    lock = createDocumentLock({ roomId: 'minutes-42', url })
    await lock.acquire()
    await lock.acquire()
    return lock.state.phase
  },

  /** Why the same lock was refused. */
  why: async () => lock.state.error?.message,

  /** Whether the same lock can save. */
  save: () =>
    lock.save('text').then(
      () => true,
      () => false,
    ),
}

Object.assign(globalThis, { scenarios })
