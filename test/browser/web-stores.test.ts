import { join } from 'node:path'
import type { BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { HANG_MS } from '../hang-limit.ts'
import { type AskedStore, expectSameAsMemory } from '../stores/same-as-memory.ts'
import { launchChromium, type Site, serveModule } from './chromium.ts'
import type { scenarios } from './pages/web-stores.ts'
import { runScenario } from './run-scenario.ts'

type Scenarios = typeof scenarios

describe('the web stores in Chromium', () => {
  let browser: BrowserContext
  let site: Site
  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages/web-stores.ts'))
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await site?.[Symbol.asyncDispose]()
  })

  async function openTab(...[kind, ttl, takeoverAfter]: Partial<Parameters<Scenarios['open']>>) {
    const page = await browser.newPage()
    await page.goto(site.url)
    await page.waitForFunction('globalThis.scenarios')
    const run = <N extends keyof Scenarios & string>(name: N, ...args: Parameters<Scenarios[N]>) =>
      runScenario<Scenarios, N>(page, name, ...args)
    if (kind) await run('open', kind, ttl, takeoverAfter)
    return { page, run }
  }

  async function openStill(kind: 'locks' | 'directory') {
    const tabs = [await openTab(), await openTab(), await openTab()] as const
    for (const { run } of tabs) await run('openStill', kind)
    return tabs
  }

  it.each(['locks', 'directory'] as const)('%s: passes the conformance suite', async (kind) => {
    const { page, run } = await openTab()
    const results = await run('conformance', kind)
    expect(results.length).toBeGreaterThan(35)
    expect(results.filter((result) => result.error)).toEqual([])
    await page.close()
  })

  it('locks: answers like the memory store', async () => {
    const { page, run } = await openTab()
    await expectSameAsMemory({
      runs: 10,
      usesClock: false,
      waits: true,
      async open(count) {
        await run('openSeveral', count)
        const storeOf = (index: number): AskedStore => ({
          acquire: ({ wake, lost: _, ...ask }) => run('askOne', index, ask, wake !== undefined) as never,
          renew: (ask) => run('callOne', index, 'renew', ask) as never,
          release: (by) => run('callOne', index, 'release', by) as never,
          read: (resources) => run('callOne', index, 'read', resources) as never,
          list: (query) => run('callOne', index, 'list', query) as never,
          sweep: (query) => run('callOne', index, 'sweep', query) as never,
        })
        return {
          stores: Array.from({ length: count }, (_, index) => storeOf(index)),
          [Symbol.asyncDispose]: () => run('closeSeveral'),
        }
      },
      // The page keeps the wake-ups.
      expectSameCalled: () => {},
    })
    await page.close()
  })

  it('the web stores in Chromium behave like the fakes of the unit tests', async () => {
    const { page, run } = await openTab()
    for (const { title, observed, expected } of await run('platform'))
      expect({ title, observed }).toEqual({ title, observed: expected })
    await page.close()
  })

  it.each(['locks', 'directory'] as const)(
    '%s: wakes the waiter in another tab, and its token is higher',
    async (kind) => {
      const [a, b] = [await openTab(kind), await openTab(kind)]
      const first = await a.run('acquire', 'Mika')
      expect(await b.run('holder')).toBe('Mika')
      const waiting = b.run('acquire', 'Ren')
      await eventually(async () => expect(await b.run('isWaiting')).toBe(true))
      expect(await a.run('holder')).toBe('Mika')
      await a.run('release')
      expect((await waiting).token).toBeGreaterThan(first.token)
      expect(await a.run('holder')).toBe('Ren')
      await b.run('release')
      await Promise.all([a.page.close(), b.page.close()])
    },
  )

  it.each(['locks', 'directory'] as const)(
    '%s: frees the lease of a closed tab, and says whose it was',
    async (kind) => {
      const [a, b] = [await openTab(kind, 2000), await openTab(kind)]
      const first = await a.run('acquire', 'Mika')
      await a.page.close()
      const next = await b.run('acquire', 'Ren')
      expect(next.token).toBeGreaterThan(first.token)
      expect(next.replaced).toBe('Mika')
      await b.run('release')
      await b.page.close()
    },
  )

  it('the web stores in Chromium lists the waiting callers of other tabs, and no longer when such a tab is closed', async () => {
    const [a, b, c] = [await openTab('locks'), await openTab('locks'), await openTab('locks')]
    await a.run('acquire', 'Mika')
    for (const [tab, owner] of [
      [b, 'Ren'],
      [c, 'Aoi'],
    ] as const) {
      tab.run('acquire', owner).catch(() => {})
      await eventually(async () => expect(await a.run('waiters')).toContain(tab === b ? '0 Ren' : '1 Aoi'))
    }
    expect(await c.run('waiters')).toEqual(['0 Ren', '1 Aoi'])
    await b.page.close()
    await eventually(async () => expect(await a.run('waiters')).toEqual(['0 Aoi']))
    await a.run('release')
    await eventually(async () => expect(await a.run('holder')).toBe('Aoi'))
    expect(await a.run('waiters')).toEqual([])
    await Promise.all([a.page.close(), c.page.close()])
  })

  it.each(['locks', 'directory'] as const)(
    '%s: counts the permits of all tabs, and gives a freed one to the first waiter',
    async (kind) => {
      const [a, b, c] = await openStill(kind)
      expect(await a.run('ask', 'Ann', { share: 2 })).toBe('granted')
      expect(await b.run('ask', 'Ben', { share: 2 })).toBe('granted')
      expect(await c.run('owners')).toEqual(['Ann', 'Ben'])
      expect(await c.run('ask', 'Cem', { share: 2 })).toBe('place 0')
      expect(await a.run('ask', 'Dan', { share: 'unlimited' })).toBe('place 1')
      await b.run('leave', 'Ben')
      await eventually(async () => expect(await c.run('isWoken', 'Cem')).toBe(true))
      expect(await a.run('isWoken', 'Dan')).toBe(false)
      expect(await c.run('ask', 'Cem', { share: 2 })).toBe('granted')
      for (const [tab, id] of [
        [a, 'Ann'],
        [a, 'Dan'],
        [c, 'Cem'],
      ] as const)
        await tab.run('leave', id)
      expect(await b.run('ask', 'Eve')).toBe('granted')
      await b.run('leave', 'Eve')
      await Promise.all([a.page.close(), b.page.close(), c.page.close()])
    },
  )

  it.each(['locks', 'directory'] as const)(
    '%s: lets no reader pass a writer of another tab',
    async (kind) => {
      const [a, b, c] = await openStill(kind)
      expect(await a.run('ask', 'reader', { share: 'unlimited' })).toBe('granted')
      expect(await b.run('ask', 'writer')).toBe('place 0')
      expect(await c.run('ask', 'late reader', { share: 'unlimited' })).toBe('place 1')
      expect(await a.run('ask', 'later reader', { share: 'unlimited' })).toBe('place 2')
      await a.run('leave', 'reader')
      await eventually(async () => expect(await b.run('isWoken', 'writer')).toBe(true))
      expect(await b.run('ask', 'writer')).toBe('granted')
      await b.run('leave', 'writer')
      await eventually(async () => expect(await c.run('isWoken', 'late reader')).toBe(true))
      await eventually(async () => expect(await a.run('isWoken', 'later reader')).toBe(true))
      expect(await a.run('ask', 'later reader', { share: 'unlimited' })).toBe('granted')
      expect(await c.run('ask', 'late reader', { share: 'unlimited' })).toBe('granted')
      await a.run('leave', 'later reader')
      await c.run('leave', 'late reader')
      await Promise.all([a.page.close(), b.page.close(), c.page.close()])
    },
  )

  it('the web stores in Chromium gives the permit of a closed tab to a waiter, and keeps it for its lock delay', async () => {
    const [a, b, c] = await openStill('locks')
    expect(await a.run('ask', 'Ann', { share: 1 })).toBe('granted')
    expect(await c.run('ask', 'Cem', { share: 1 })).toBe('place 0')
    await a.page.close()
    await eventually(async () => expect(await c.run('isWoken', 'Cem')).toBe(true))
    expect(await c.run('ask', 'Cem', { share: 1, lockDelay: 600_000 })).toBe('granted')
    expect(await b.run('ask', 'Ben')).toBe('place 0')
    await c.page.close()
    await eventually(async () => expect(await b.run('isWoken', 'Ben')).toBe(true))
    expect(await b.run('ask', 'Ben')).toBe('kept, place 0')
    expect(await b.run('owners')).toEqual(['Cem'])
    await b.page.close()
  })

  it('the web stores in Chromium counts permits whose rows the user has cleared', async () => {
    const { page, run } = await openTab()
    expect(await run('clearRecords')).toEqual([false, false, false, true])
    await page.close()
  })

  it('the web stores in Chromium grants no lease while somebody else holds its Web Lock', async () => {
    const { page, run } = await openTab()
    expect(await run('holdByStranger')).toEqual([null, 0, null, 'granted'])
    await page.close()
  })

  it('the web stores in Chromium takes the Web Lock from a frozen tab whose lease was ended by force', async () => {
    const { page, run } = await openTab()
    expect(await run('evictFrozen')).toBe(true)
    await page.close()
  })

  it('the web stores in Chromium tells a tab that its Web Lock was taken by force', async () => {
    const [a, b] = [await openTab('locks'), await openTab('locks')]
    await a.run('acquire', 'Mika')
    await b.run('force')
    await eventually(async () => expect(await a.run('isHeld')).toBe(false))
    expect(await b.run('holder')).toBe(null)
    await Promise.all([a.page.close(), b.page.close()])
  })

  it('the web stores in Chromium gives the lease of a frozen tab to a waiter, and says whose it was; the tab is told when it thaws', async () => {
    const [a, b] = [await openTab('locks', HANG_MS, 5000), await openTab('locks', HANG_MS, 5000)]
    const first = await a.run('acquire', 'Mika')
    const tools = await browser.newCDPSession(a.page)
    await tools.send('Page.setWebLifecycleState', { state: 'frozen' })
    await tools.send('Debugger.enable')
    await tools.send('Debugger.pause')
    const next = await b.run('acquire', 'Ren')
    expect(next.token).toBeGreaterThan(first.token)
    expect(next.replaced).toBe('Mika')
    await tools.send('Debugger.disable')
    await tools.send('Page.setWebLifecycleState', { state: 'active' })
    await eventually(async () => expect(await a.run('isHeld')).toBe(false))
    await Promise.all([a.page.close(), b.page.close()])
  })

  it('the web stores in Chromium keeps no Web Lock whose record could not be written', async () => {
    const { page, run } = await openTab('locks')
    expect(await run('refuseRecords')).toEqual({ refused: 'store-unavailable', isHeld: true })
    await page.close()
  })

  it('the web stores in Chromium keeps no Web Lock for a caller that was told that the store does not answer', async () => {
    const { page, run } = await openTab('locks')
    expect(await run('blockGate')).toEqual({ refused: 'store-unavailable', isFree: true })
    await page.close()
  })

  it('the web stores in Chromium uses Web Locks, or a file in a browser without them', async () => {
    const { page, run } = await openTab()
    expect(await run('open', 'default')).toBe('web-locks')
    await page.addInitScript(() =>
      Object.defineProperty(Navigator.prototype, 'locks', { get: () => undefined }),
    )
    await page.reload()
    expect(await run('open', 'default')).toBe('directory')
    await run('acquire', 'Mika')
    expect(await run('holder')).toBe('Mika')
    await page.close()
  })
})
