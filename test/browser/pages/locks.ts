/** Runs the web platform tests of locks in a page: on the browser's own lock manager, and on ours. */
import { createLockManager, type LockManager } from '../../../src/locks/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { webLockStore } from '../../../src/stores/web/index.ts'
import { casesOf, type Realm } from '../../locks/harness.ts'

const realms = {
  browser: () => ({ locks: navigator.locks, newClient: locksOfFrame }),
  memory: () => realmOn(memoryStore()),
  'Web Locks': () => realmOn(webLockStore()),
}

function realmOn(store: ReturnType<typeof memoryStore>): Realm {
  const newClient = async () => createLockManager(store)
  return { locks: createLockManager(store), newClient }
}

async function locksOfFrame(): Promise<LockManager> {
  const frame = document.createElement('iframe')
  document.body.append(frame)
  return frame.contentWindow?.navigator.locks as LockManager
}

export type RealmName = keyof typeof realms

export const scenarios = {
  /** Resolves with what went wrong, by the titles of the tests, and with how many ran. `known`: titles to leave out. */
  async webPlatformTests(source: string, realm: RealmName, known: readonly string[]) {
    const failed: Record<string, string> = {}
    const cases = casesOf(source, realms[realm]()).filter(({ title }) => !known.includes(title))
    for (const { title, run } of cases)
      await run().catch((error) => {
        failed[title] = String(error)
      })
    return { failed, count: cases.length }
  },
}

Object.assign(globalThis, { scenarios })
