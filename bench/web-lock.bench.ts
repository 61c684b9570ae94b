/** An idle Web Lock beside the bare request, and how soon the next tab has the lock of one that was closed. */
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { launchChromium, type Site, serveModule } from '../test/browser/chromium.ts'
import { runScenario } from '../test/browser/run-scenario.ts'
import { printTable, quantile } from './measure.ts'
import type { scenarios } from './web/page.ts'

type Scenarios = typeof scenarios
const TAKEOVERS = 15

export async function run(): Promise<void> {
  await using site = await serveModule(join(import.meta.dirname, 'web/page.ts'))
  const browser = await launchChromium()
  try {
    const page = await open(browser, site)
    const medians = await runScenario<Scenarios, 'medians'>(page, 'medians')
    const bare = medians[0]?.micros ?? Number.NaN
    printTable('An idle Web Lock, acquire + release', [
      ['', 'p50 µs', '× bare'],
      ...medians.map(({ name, micros }) => [name, micros.toFixed(0), (micros / bare).toFixed(2)]),
    ])
    const waits: number[] = []
    for (let round = 0; round < TAKEOVERS; round++) waits.push(await takeOver(browser, site))
    printTable('Takeover after the holder was closed', [
      ['', 'p50 ms', 'max ms'],
      ['standby in another tab', `${quantile(waits, 0.5)}`, `${Math.max(...waits)}`],
    ])
  } finally {
    await browser.close()
  }
}

async function takeOver(browser: BrowserContext, site: Site): Promise<number> {
  const [holder, next] = [await open(browser, site), await open(browser, site)]
  await runScenario<Scenarios, 'hold'>(holder, 'hold')
  await runScenario<Scenarios, 'standBy'>(next, 'standBy')
  const closed = Date.now()
  await holder.close()
  const acquired = await runScenario<Scenarios, 'acquired'>(next, 'acquired')
  await next.close()
  return (acquired ?? Number.NaN) - closed
}

async function open(browser: BrowserContext, site: Site): Promise<Page> {
  const page = await browser.newPage()
  await page.goto(site.url)
  await page.waitForFunction('globalThis.scenarios')
  return page
}
