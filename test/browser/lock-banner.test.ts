import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import type { scenarios } from './pages/lock-banner.tsx'
import { runScenario } from './run-scenario.ts'
import { servePage } from './served-page.ts'

describe('the banner of a document, in strict mode and from another origin', () => {
  const site = servePage('lock-banner.tsx')
  const store = memoryStore()
  let page: Page
  let server: HoldfastServer
  beforeAll(async () => {
    page = await site.open()
    const origins = [new URL(page.url()).origin]
    server = await createServer({ store, settings: { port: 0, origins, rate: 0, logLevel: 'silent' } })
  })
  afterAll(() => server?.stop())

  type Scenarios = typeof scenarios
  const run = <N extends keyof Scenarios>(name: N, ...args: Parameters<Scenarios[N]>) =>
    runScenario<Scenarios, N>(page, name, ...args)
  const sockets = () => server.locks.channels.sockets

  it('has one lock and one connection, though it is mounted twice', async () => {
    await run('show', server.url, 'plan', 'Mika')
    await page.getByRole('button', { name: 'Write' }).click()
    await page.getByText('You are editing').waitFor()
    await expect.poll(sockets).toBe(1)
    expect(await store.read(['document:plan'])).toMatchObject([{ metadata: { name: 'Mika' } }])
  })

  it('keeps the lock when the name changes', async () => {
    const [before] = await store.read(['document:plan'])
    await run('show', server.url, 'plan', 'Mika Mori')
    await page.getByText('You are editing').waitFor()
    expect(await store.read(['document:plan'])).toMatchObject([{ token: before?.token }])
  })

  it('gives the lock back when it shows another document, and when it goes', async () => {
    await run('show', server.url, 'other', 'Mika')
    await expect.poll(() => store.read(['document:plan'])).toEqual([null])
    await page.getByRole('button', { name: 'Write' }).click()
    await page.getByText('You are editing').waitFor()
    await run('unmount')
    await expect.poll(() => store.read(['document:other'])).toEqual([null])
    await expect.poll(sockets).toBe(0)
  })

  it('is in one session, though two pages ask twice each at the same time', async () => {
    const pages = [await site.open(), await site.open()]
    await page.context().clearCookies()
    // What is asked within this time goes out together.
    await page.context().route(`${server.url}/**`, (asked) => setTimeout(() => asked.continue(), 300))
    const issued: string[] = []
    page.context().on('response', async (answer) => {
      const cookie = await answer.headerValue('set-cookie')
      if (cookie !== null) issued.push(cookie)
    })
    const shown = (at: Page) => runScenario<Scenarios, 'show'>(at, 'show', server.url, 'both', 'Mika')
    await Promise.all(pages.map(shown))
    await pages[0]?.getByRole('button', { name: 'Write' }).click()
    await pages[0]?.getByText('You are editing').waitFor()
    await pages[1]?.getByText('Mika is editing').waitFor()
    expect(issued).toHaveLength(1)
  })
})
