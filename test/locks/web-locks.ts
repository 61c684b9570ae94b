import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, it } from 'vitest'
import type { LeaseStore } from '../../src/core/index.ts'
import { createLockManager, type LockManager, type StoreLockManager } from '../../src/locks/index.ts'
import { casesOf, type Realm, type WebPlatformCase } from './harness.ts'
import type { KnownDifferences } from './known-differences.ts'

const FOLDER = join(import.meta.dirname, 'cases')
export const scripts = globSync('*.js', { cwd: FOLDER })
  .toSorted()
  .map((file) => ({
    file: basename(file, '.https.any.js'),
    source: readFileSync(join(FOLDER, file), 'utf8'),
  }))

export type OpenRealm = () => Promise<Realm & { readonly canShare: boolean; close?(): Promise<void> }>

/**
 * The web platform tests on a lock manager. Each script has its own. `known`: tests that it fails.
 */
export function describeWebLocks(name: string, open: OpenRealm, known: KnownDifferences = {}): void {
  describe.each(scripts)(`web locks on ${name}: $file`, ({ file, source }) => {
    let realm: Awaited<ReturnType<OpenRealm>>
    let cases: WebPlatformCase[]
    beforeAll(async () => {
      realm = await open()
      cases = casesOf(source, realm)
    })
    afterAll(() => realm?.close?.())

    const titles = casesOf(source, { locks: {} as LockManager }).map(({ title }) => title)
    for (const [index, title] of titles.entries())
      it(title, async ({ skip }) => {
        const difference = known[`${file}: ${title}`]
        if (difference) skip(`known: ${difference}`)
        if (!realm.canShare) skip('the store can neither share nor steal')
        const hasRun = await cases[index]?.run()
        if (!hasRun) skip('it needs several clients, and here there is one')
      })
  })
}

/** `newStore`: another connection to the same leases. */
export async function realmOn(
  newStore: () => Promise<LeaseStore>,
  dispose: () => unknown = () => {},
): ReturnType<OpenRealm> {
  const opened: { readonly locks: StoreLockManager; readonly store: LeaseStore }[] = []
  const newClient = async () => {
    const store = await newStore()
    const locks = createLockManager(store)
    opened.push({ store, locks })
    return handlingRejections(locks)
  }
  return {
    locks: await newClient(),
    canShare: opened.every(({ store }) => store.supports.share),
    newClient,
    async close() {
      for (const { locks } of opened) await locks.close()
      for (const { store } of opened) await store.close()
      await dispose()
    },
  }
}

/** Some tests leave requests behind, which reject when the manager is closed. */
function handlingRejections(locks: LockManager): LockManager {
  const { request } = locks
  const value = (...args: Parameters<LockManager['request']>) => {
    const returned = request.apply(locks, args)
    returned.catch(() => {})
    return returned
  }
  return Object.defineProperty(locks, 'request', { value })
}
