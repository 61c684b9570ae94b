import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { quantile } from '../../bench/measure.ts'
import { eventually } from '../eventually.ts'
import { launchChromium, leave, type Site, serveModule } from './chromium.ts'
import { crash } from './crash.ts'
import type { scenarios } from './pages/project.ts'
import { runScenario } from './run-scenario.ts'

type Scenarios = typeof scenarios

/** Two ways in which a browser can refuse Web Locks. */
const WITHOUT_WEB_LOCKS = {
  removed: () => Object.defineProperty(Navigator.prototype, 'locks', { get: () => undefined }),
  SecurityError: () => {
    LockManager.prototype.request = () => Promise.reject(new DOMException('refused', 'SecurityError'))
  },
}

describe('the project lock in Chromium', () => {
  let browser: BrowserContext
  let site: Site
  const pages: Page[] = []

  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages/project.ts'))
    browser = await launchChromium({ backForwardCache: true })
  })
  afterEach(async () => {
    const cleaner = await openTab()
    await Promise.all(pages.splice(0).map((page) => page !== cleaner.page && page.close()))
    // The writer of a page that was just closed may keep its file open for a moment.
    await eventually(() => cleaner.run('clearFiles'))
    await cleaner.page.close()
  })
  afterAll(async () => {
    await browser?.close()
    await site?.[Symbol.asyncDispose]()
  })

  async function openTab(prepare?: () => unknown) {
    const page = await browser.newPage()
    pages.push(page)
    if (prepare) await page.addInitScript(prepare)
    await page.goto(site.url)
    await page.waitForFunction('globalThis.scenarios')
    const run = <N extends keyof Scenarios & string>(name: N, ...args: Parameters<Scenarios[N]>) =>
      runScenario<Scenarios, N>(page, name, ...args)
    return { page, run }
  }

  const lockNames = (page: Page) =>
    page.evaluate(async () => {
      const { held = [] } = await navigator.locks.query()
      // Without the tags, by which waiters find out whether a holder still runs.
      return held.flatMap(({ name = '' }) => (name.includes('\u0004') ? [] : name))
    })

  it('the project lock in Chromium is held by one of two tabs, and by the other after its release', async () => {
    const [a, b] = [await openTab(), await openTab()]
    expect(await a.run('acquire')).toMatchObject({ backend: 'web', ttlExpiresAt: 'Infinity' })
    expect(await lockNames(b.page)).toEqual(['imgponic:project:autosave'])
    await b.run('waitInBackground')
    await eventually(async () => expect(await b.run('types')).toEqual(['attempt']))
    expect(await b.run('holds')).toBe(false)
    await a.run('release')
    await eventually(async () => expect(await b.run('holds')).toBe(true))
    expect(await b.run('tree')).toEqual([])
  })

  it('goes to the next tab when its tab is closed or crashes', async () => {
    const waits: number[] = []
    const bareWaits: number[] = []
    for (const end of ['close', 'close', 'close', 'crash'] as const) {
      const [a, b] = [await openTab(), await openTab()]
      await a.run('acquire')
      await a.run('holdBareLock')
      await b.run('holdBareLock')
      await b.run('waitInBackground', { standby: true })
      await eventually(async () => {
        const pending = await b.page.evaluate(async () => (await navigator.locks.query()).pending?.length)
        expect(pending).toBe(2)
      })
      const ended = Date.now()
      if (end === 'close') await a.page.close()
      else await crash(a.page)
      await eventually(async () => expect(await b.run('holds')).toBe(true))
      await eventually(async () => expect(await b.run('bareLockAt')).toBeGreaterThan(0))
      const acquired = (await b.run('events')).find((event) => event.type === 'lock:acquired')
      waits.push((acquired?.at ?? Infinity) - ended)
      bareWaits.push((await b.run('bareLockAt')) - ended)
      await b.page.close()
    }
    console.log(
      `time until the next tab has the lock: p50 ${quantile(waits, 0.5)} ms of ${waits}, of a bare lock ${bareWaits}`,
    )
    for (const [n, bareWait] of bareWaits.entries()) expect(waits[n]).toBeLessThan(5000 + 5 * bareWait)
  })

  it.each(Object.entries(WITHOUT_WEB_LOCKS))(
    'uses only project/.lock if Web Locks are refused (%s)',
    async (_, prepare) => {
      const { run } = await openTab(prepare)
      await run('putFile', 'workflow-cookbook/collector.jsonl', '{}')
      expect(await run('acquire')).toMatchObject({ backend: 'fallback' })
      expect(await run('tree')).toEqual(['project/.lock', 'workflow-cookbook/collector.jsonl'])
      expect(await run('renew')).toBeGreaterThan(0)
      await run('release')
      expect(await run('tree')).toEqual(['workflow-cookbook/collector.jsonl'])
      expect(await run('withLock')).toBe('fallback')
      expect(await run('tree')).toEqual(['workflow-cookbook/collector.jsonl'])
    },
  )

  it('fails with web-lock-unsupported in a page without an origin', async () => {
    const script = await (await fetch(`${site.url}page.js`)).text()
    const page = await browser.newPage()
    pages.push(page)
    await page.route('**/sandboxed', (route) =>
      route.fulfill({
        contentType: 'text/html',
        headers: { 'content-security-policy': 'sandbox allow-scripts' },
        body: `<!doctype html><script type="module">${script}</script>`,
      }),
    )
    await page.goto(`${site.url}sandboxed`)
    await page.waitForFunction('globalThis.scenarios')
    const outcome = await runScenario<Scenarios, 'fails'>(page, 'fails')
    expect(outcome.code).toBe('web-lock-unsupported')
  })

  it('the project lock in Chromium is granted once if many tabs write the .lock at the same moment', async () => {
    const tabs = await Promise.all(Array.from({ length: 5 }, () => openTab(WITHOUT_WEB_LOCKS.removed)))
    const grants: number[] = []
    for (let round = 0; round < 30; round++) {
      const moment = Date.now() + 60
      const granted = await Promise.all(tabs.map(({ run }) => run('acquireAt', moment)))
      grants.push(granted.filter(Boolean).length)
      await Promise.all(tabs.map(({ run }, n) => granted[n] && run('release')))
    }
    expect(Math.max(...grants)).toBe(1)
    expect(grants.filter((count) => count === 1).length).toBeGreaterThan(25)
  })

  it('the project lock in Chromium has one holder although the page that releases it stalls', async () => {
    const [a, b, c] = await Promise.all([1, 2, 3].map(() => openTab(WITHOUT_WEB_LOCKS.removed)))
    if (!a || !b || !c) throw new Error('three tabs')
    await a.run('acquire')
    await a.run('stallRemovals', 1600)
    await Promise.all([a.run('releaseAndStall', 1600), b.run('acquire')])
    await a.run('released')
    expect(await c.run('fails', { retry: { maxAttempts: 1 } })).toMatchObject({ code: 'lock-unavailable' })
    expect(await b.run('renew')).toBeGreaterThan(0)
    await b.run('release')
    await eventually(async () => expect(await b.run('tree')).toEqual([]))
  })

  it('the project lock in Chromium is checked before use when its page comes back from the back/forward cache', async () => {
    const { page, run } = await openTab(WITHOUT_WEB_LOCKS.removed)
    await run('acquire')
    const comeBack = await leave(page, `${site.url}elsewhere`)
    await comeBack()
    await eventually(async () => expect(await run('types')).toContain('renewed'))
    expect(await run('holds')).toBe(true)
  })

  it('the project lock in Chromium is lost at once in a page that comes back after another tab has taken the .lock', async () => {
    const [a, b] = [await openTab(WITHOUT_WEB_LOCKS.removed), await openTab(WITHOUT_WEB_LOCKS.removed)]
    await a.run('acquire')
    await b.run('acquire', { scope: 'history' })
    const comeBack = await leave(a.page, `${site.url}elsewhere`)
    await b.run('forceAutosave')
    await b.run('acquire')
    await comeBack()
    expect(await a.run('holds')).toBe(false)
    await eventually(async () => expect(await a.run('types')).toContain('error'))
    expect(await b.run('renew')).toBeGreaterThan(0)
  })

  it('goes to another tab while its page is in the back/forward cache', async () => {
    const [a, b] = [await openTab(), await openTab()]
    await a.run('acquire')
    await a.page.goto(`${site.url}elsewhere`)
    expect(await b.run('acquire')).toMatchObject({ backend: 'web' })
    // Chromium drops a page from the cache when another tab asks for its Web Lock, so it is loaded again.
    await a.page.goBack({ waitUntil: 'commit' })
    await a.page.waitForFunction('globalThis.scenarios')
    expect(await a.run('holds')).toBe(false)
    expect(await b.run('holds')).toBe(true)
  })

  it('the project lock in Chromium continues if the .lock cannot be deleted, and deletes it later', async () => {
    const { run } = await openTab(WITHOUT_WEB_LOCKS.removed)
    await run('acquire')
    await run('refuseRemoval', true)
    await run('release')
    expect((await run('types')).slice(-4)).toEqual([
      'cleanup-warning',
      'cleanup-warning',
      'error',
      'cleanup-warning',
    ])
    await run('refuseRemoval', false)
    await run('acquire')
    await run('release')
    expect(await run('tree')).toEqual([])
  })

  it('the project lock in Chromium is lost if its files were cleared, and can be acquired again', async () => {
    const { run } = await openTab(WITHOUT_WEB_LOCKS.removed)
    await run('acquire')
    await run('clearFiles')
    await expect(run('renew')).rejects.toThrow('lost (refused)')
    expect(await run('holds')).toBe(false)
    expect(await run('acquire')).toMatchObject({ backend: 'fallback' })
    await run('release')
    expect(await run('tree')).toEqual([])
  })

  it('the project lock in Chromium removes the .lock of another tab by force', async () => {
    const [a, b] = [await openTab(WITHOUT_WEB_LOCKS.removed), await openTab(WITHOUT_WEB_LOCKS.removed)]
    await a.run('acquire')
    await b.run('acquire', { scope: 'history' })
    await a.page.close()
    expect(await b.run('fails', { retry: { maxAttempts: 1 } })).toEqual({
      code: 'lock-unavailable',
      cause: 'fallback-conflict',
    })
    await b.run('forceAutosave')
    expect(await b.run('acquire')).toMatchObject({ backend: 'fallback', scope: 'autosave' })
  })
})
