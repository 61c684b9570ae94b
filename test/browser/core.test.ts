import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchChromium, type Site, serveModule } from './chromium.ts'
import type { scenarios } from './pages/core.ts'

describe('the core in a page of Chromium', () => {
  let browser: BrowserContext
  let site: Site
  let page: Page
  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages/core.ts'))
    browser = await launchChromium()
    page = await browser.newPage()
    await page.goto(site.url)
  })
  afterAll(async () => {
    await browser?.close()
    await site?.[Symbol.asyncDispose]()
  })

  type Scenarios = typeof scenarios
  const run = <N extends keyof Scenarios>(name: N, ...args: Parameters<Scenarios[N]>) =>
    page.evaluate(
      ([name, args]) => {
        const { scenarios } = globalThis as unknown as {
          scenarios: Record<string, (...args: unknown[]) => unknown>
        }
        return scenarios[name]?.(...args)
      },
      [name, args] as const,
    ) as ReturnType<Scenarios[N]>

  it('holds a lease while the work runs, and frees it then', async () => {
    expect(await run('withLease')).toEqual({
      held: true,
      token: expect.any(Number),
      holder: true,
      free: true,
    })
  })

  it('serves twenty that ask at once, one at a time and in their order', async () => {
    const { served, tokens, most } = await run('contention', 20)
    expect(most).toBe(1)
    expect(served).toEqual(Array.from({ length: 20 }, (_, n) => n))
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b))
  })

  it('signals the loss by the deadline when the store hangs', async () => {
    const { after, held, code } = await run('frozenStore', 500)
    expect({ held, code }).toEqual({ held: false, code: 'lease-lost' })
    expect(after).toBeLessThanOrEqual(500)
  })

  it('passes the conformance suite with the memory store', async () => {
    const results = await run('conformance')
    expect(results.length).toBeGreaterThan(40)
    expect(results.filter((result) => result.error)).toEqual([])
  })
})
