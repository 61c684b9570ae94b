import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { runProbe } from './run-probe.ts'
import { servePage } from './served-page.ts'

describe('the sync in tabs, on IndexedDB', () => {
  const site = servePage('synced-tab.ts')
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
    vi.waitFor(async () => expect((await runProbe(tab, 'look')).ids.length).toBe(count), 10_000)

  it('loses none of 200 writes of two tabs at once', async () => {
    await Promise.all([runProbe(one, 'add', 'one', 100), runProbe(two, 'add', 'two', 100)])
    for (const tab of [one, two]) await shows(tab, 200)
  })

  it('acknowledges messages, and tells of settings and removals', async () => {
    await runProbe(two, 'paint', '#112233')
    await runProbe(two, 'remove', 'one0')
    await shows(one, 199)
    await vi.waitFor(async () => expect((await runProbe(one, 'look')).theme).toBe('#112233'), 5000)
    expect((await runProbe(two, 'look')).codes).toEqual([])
  })

  it('keeps everything when the tabs are gone, and cleans up what is left behind', async () => {
    await Promise.all([one.close(), two.close()])
    const next = await openTab()
    await shows(next, 199)
    expect(await runProbe(next, 'cleanupOrphans')).toEqual([])
    await runProbe(next, 'reset')
    await shows(next, 0)
  })

  it('lets the database be deleted, and goes on with a new one', async () => {
    const tab = await openTab()
    await tab.evaluate(
      () =>
        new Promise((resolve) => {
          indexedDB.deleteDatabase('holdfast-sync').onsuccess = resolve
        }),
    )
    await runProbe(tab, 'add', 'new', 1)
    await shows(tab, 1)
  })
})
