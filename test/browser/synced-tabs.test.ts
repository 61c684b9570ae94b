import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { leave } from './chromium.ts'
import { runProbe } from './run-probe.ts'
import { servePage } from './served-page.ts'

describe('the sync in tabs, on IndexedDB', () => {
  const site = servePage('synced-tab.ts', { backForwardCache: true })
  let one: Page
  let two: Page
  beforeAll(async () => {
    one = await openTab()
    two = await openTab()
  })

  async function openTab(): Promise<Page> {
    const tab = await site.open()
    await runProbe(tab, 'bootstrap')
    return tab
  }
  const shows = (tab: Page, count: number) =>
    eventually(async () => expect((await runProbe(tab, 'look')).ids.length).toBe(count))

  it('the sync in tabs, on IndexedDB loses none of 200 concurrent writes of two tabs', async () => {
    await Promise.all([runProbe(one, 'add', 'one', 100), runProbe(two, 'add', 'two', 100)])
    for (const tab of [one, two]) await shows(tab, 200)
  })

  it('the sync in tabs, on IndexedDB acknowledges messages, and shows settings and removals in the other tab', async () => {
    await runProbe(two, 'paint', '#112233')
    await runProbe(two, 'remove', 'one0')
    await shows(one, 199)
    await eventually(async () => expect((await runProbe(one, 'look')).theme).toBe('#112233'))
    expect((await runProbe(two, 'look')).codes).toEqual([])
  })

  it('the sync in tabs, on IndexedDB keeps all entities after the tabs are closed, without orphans, until a reset', async () => {
    await Promise.all([one.close(), two.close()])
    const next = await openTab()
    await shows(next, 199)
    expect(await runProbe(next, 'cleanupOrphans')).toEqual([])
    await runProbe(next, 'reset')
    await shows(next, 0)
  })

  it('the sync in tabs, on IndexedDB lets another caller delete the database, shows that, and continues with a new one', async () => {
    const tab = await openTab()
    await runProbe(tab, 'reset')
    await runProbe(tab, 'add', 'old', 2)
    await shows(tab, 2)
    await tab.evaluate(
      () =>
        new Promise((resolve) => {
          indexedDB.deleteDatabase('holdfast-sync').onsuccess = resolve
        }),
    )
    await shows(tab, 0)
    await runProbe(tab, 'add', 'new', 1)
    await shows(tab, 1)
    await tab.close()
  })

  it('shows in all tabs that the data of the site was cleared, and continues', async () => {
    const [a, b] = [await openTab(), await openTab()]
    await runProbe(a, 'reset')
    await runProbe(a, 'add', 'cleared', 2)
    for (const tab of [a, b]) await shows(tab, 2)
    const tools = await a.context().newCDPSession(a)
    const { origin } = new URL(a.url())
    await tools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
    for (const tab of [a, b]) await shows(tab, 0)
    await runProbe(b, 'add', 'after', 1)
    for (const tab of [a, b]) await shows(tab, 1)
    await Promise.all([a.close(), b.close()])
  })

  it('the sync in tabs, on IndexedDB shows what was stored while its page was in the back/forward cache', async () => {
    const tab = await openTab()
    const comeBack = await leave(tab, `${new URL(tab.url()).origin}/elsewhere`)
    // Without a message: a message for a page in the cache makes the browser drop the page.
    await tab.evaluate(
      () =>
        new Promise<void>((resolve) => {
          const opening = indexedDB.open('holdfast-sync')
          opening.onsuccess = () => {
            const writing = opening.result.transaction('items', 'readwrite')
            writing.objectStore('items').put({ themeToken: '#abcdef' }, 'syncSettings')
            writing.oncomplete = () => {
              opening.result.close()
              resolve()
            }
          }
        }),
    )
    await comeBack()
    await eventually(async () => expect((await runProbe(tab, 'look')).theme).toBe('#abcdef'))
    await tab.close()
  })

  it('the sync in tabs, on IndexedDB finishes a write that began before the storage was closed, and calls all listeners', async () => {
    const tab = await openTab()
    const outcome = await tab.evaluate(async () => {
      const { indexedDbStorage } = globalThis as unknown as typeof import('../../src/sync/index.ts')
      const [closing, other] = [indexedDbStorage('closing'), indexedDbStorage('closing')]
      await closing.keys()
      closing.subscribe(() => {
        throw new Error('a bad listener')
      })
      const received = new Promise<unknown>((resolve) => closing.subscribe(resolve))
      const writing = closing.set({ a: 1 })
      await closing[Symbol.asyncDispose]()
      await writing
      return { received: await received, stored: await other.get(['a']) }
    })
    expect(outcome).toEqual({ received: { a: { newValue: 1 } }, stored: { a: 1 } })
  })
})
