import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Analysis, checkHealth, receiveTelemetry, renderReport } from '../../src/telemetry/index.ts'
import { acquires, NOON } from '../telemetry/records.ts'
import { launchChromium, type Site, serveModule } from './chromium.ts'
import type { scenarios } from './pages/telemetry.ts'
import { runScenario } from './run-scenario.ts'

type Scenarios = typeof scenarios

let browser: BrowserContext
let site: Site
beforeAll(async () => {
  site = await serveModule(join(import.meta.dirname, 'pages/telemetry.ts'))
  browser = await launchChromium()
})
afterAll(async () => {
  await browser?.close()
  await site?.[Symbol.asyncDispose]()
})

describe('the telemetry of a page', () => {
  /** How many requests the server takes before it is away. */
  let reachable: number
  let received: string[]
  let page: Page
  beforeEach(async () => {
    reachable = Number.POSITIVE_INFINITY
    received = []
    await browser.unrouteAll()
    await browser.route('**/telemetry', async (route) => {
      if (reachable-- <= 0) return route.abort('internetdisconnected')
      const batch = receiveTelemetry(route.request().postDataJSON())
      if (batch.ok) received.push(...batch.records.map(({ type }) => type))
      await route.fulfill({ status: 202, json: {} })
    })
    page = await openPage()
    // What an earlier test has left is not this one's.
    await call(page, 'tell', ['start'])
    received = []
  })

  it('the telemetry of a page is posted, and leaves nothing behind', async () => {
    await call(page, 'tell', ['a', 'b'])
    expect(received).toEqual(['a', 'b'])
    expect((await call(page, 'waiting')).types).toEqual([])
  })

  it('waits in OPFS while the server is away, through a reload, and is sent once', async () => {
    reachable = 0
    await call(page, 'tell', ['a', 'b'])
    await call(page, 'tell', ['c'])
    await page.reload()
    expect(await call(page, 'waiting')).toMatchObject({
      names: ['holdfast-telemetry'],
      types: ['a', 'b', 'c'],
    })
    reachable = Number.POSITIVE_INFINITY
    await call(page, 'tell', ['d'])
    expect(received).toEqual(['d', 'a', 'b', 'c'])
    await call(page, 'tell', ['e'])
    expect(received).toEqual(['d', 'a', 'b', 'c', 'e'])
  })

  it('the telemetry of a page that waited is sent once, also when the server goes away in mid-way', async () => {
    const types = Array.from({ length: 700 }, (_, n) => `event-${n}`)
    reachable = 0
    await call(page, 'tell', types)
    reachable = 2
    await call(page, 'tell', ['a'])
    expect(received.length).toBeGreaterThan(100)
    expect((await call(page, 'waiting')).types).toEqual(types.slice(received.length - 1))
    reachable = Number.POSITIVE_INFINITY
    await call(page, 'tell', ['b'])
    expect(received.toSorted()).toEqual(['a', 'b', ...types].toSorted())
  })

  it('the telemetry of a page of several pages waits in one file, and none is lost', async () => {
    reachable = 0
    const pages = [page, await openPage(), await openPage()]
    await Promise.all(
      pages.flatMap((one, n) => [1, 2, 3].map((turn) => call(one, 'tell', [`p${n}-${turn}`]))),
    )
    expect((await call(page, 'waiting')).types.toSorted()).toEqual(
      [0, 1, 2].flatMap((n) => [1, 2, 3].map((turn) => `p${n}-${turn}`)),
    )
    reachable = Number.POSITIVE_INFINITY
    await Promise.all(pages.map((one, n) => call(one, 'tell', [`last-${n}`])))
    expect(received.toSorted()).toEqual([...new Set(received)].toSorted())
    expect(received).toHaveLength(12)
  })

  it('the telemetry of a page waits also in a browser without Web Locks, and is sent once by the page or by a later one', async () => {
    const withoutLocks = async () => {
      const opened = await browser.newPage()
      await opened.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }))
      await opened.goto(site.url)
      return opened
    }
    const [one, two] = [await withoutLocks(), await withoutLocks()]
    reachable = 0
    for (const turn of [1, 2, 3])
      expect(
        await Promise.all([call(one, 'tell', [`one-${turn}`]), call(two, 'tell', [`two-${turn}`])]),
      ).toEqual([0, 0])
    reachable = Number.POSITIVE_INFINITY
    await call(one, 'tell', ['one-4'])
    expect(received).toEqual(['one-4', 'one-1', 'one-2', 'one-3'])
    await two.close()
    await one.clock.install({ time: Date.now() + 3_600_000 })
    await call(one, 'tell', ['one-5'])
    expect(received.slice(4)).toEqual(['one-5', 'two-1', 'two-2', 'two-3'])
    await call(page, 'tell', ['last'])
    expect(received).toHaveLength(9)
  })

  it('the telemetry of a page after a line that was cut off begins a line of its own', async () => {
    reachable = 0
    await call(page, 'tell', ['a', 'b'])
    await call(page, 'tear')
    await call(page, 'tell', ['c'])
    reachable = Number.POSITIVE_INFINITY
    await call(page, 'tell', ['d'])
    expect(received).toEqual(['d', 'a', 'c'])
  })

  it.each(['Mika', '美香'])(
    'the telemetry of a page takes no more room than it may: the oldest go (%s)',
    async (owner) => {
      reachable = 0
      const types = Array.from({ length: 2000 }, (_, n) => `event-${n}`)
      const dropped = await call(page, 'tell', types, owner)
      const kept = await call(page, 'waiting')
      expect(dropped).toBe(types.length - kept.types.length)
      expect(kept.bytes).toBeLessThanOrEqual(100_000)
      expect(kept.types.length).toBeGreaterThan(500)
      expect(kept.types).toEqual(types.slice(-kept.types.length))
    },
  )

  async function openPage(): Promise<Page> {
    const opened = await browser.newPage()
    await opened.goto(site.url)
    return opened
  }

  function call<N extends keyof Scenarios>(on: Page, name: N, ...args: Parameters<Scenarios[N]>) {
    return runScenario<Scenarios, N>(on, name, ...args)
  }
})

describe('the report in a browser', () => {
  let page: Page
  beforeAll(async () => {
    const analysis = new Analysis()
    for (const one of [...acquires(0, 40, 0), ...acquires(1, 30, 10), ...acquires(2, 38, 2)])
      analysis.add(one)
    page = await browser.newPage()
    await page.setContent(renderReport(checkHealth(analysis), NOON))
  })

  it('the report in a browser moves one cursor through all plots, by pointer and by keys, and reads the values under it', async () => {
    const plots = page.locator('section svg')
    const value = page.locator('figure', { hasText: 'Failed for good' }).locator('output')
    const becomes = (text: string) => expect.poll(() => value.textContent()).toBe(text)
    await becomes('5 %')
    await plots.first().focus()
    await page.keyboard.press('ArrowLeft')
    await becomes('25 %')
    expect(await page.locator('.moment').textContent()).toBe('01-01 12:15–12:30 UTC')
    const cursors = await plots
      .locator('.cursor')
      .evaluateAll((lines) => lines.map((line) => line.getAttribute('x1')))
    expect(new Set(cursors).size).toBe(1)
    await plots.last().hover({ position: { x: 70, y: 40 } })
    await becomes('0 %')
    await page.mouse.move(0, 0)
    await becomes('5 %')
  })

  it.each([360, 1200])('the report in a browser fits a window %i pixels wide', async (width) => {
    await page.setViewportSize({ width, height: 800 })
    await page.locator('details').evaluateAll((all) => {
      for (const one of all) (one as HTMLDetailsElement).open = true
    })
    await expect
      .poll(() => page.evaluate(() => document.documentElement.scrollWidth))
      .toBeLessThanOrEqual(width)
  })
})
