import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import type { scenarios } from './pages/lock-banner.tsx'
import { runScenario } from './run-scenario.ts'
import { servePage } from './served-page.ts'

const TOKEN = 'the-token-of-a-page'

describe.each([
  ['that a provider names', true],
  ['that the hook names, though a provider names another one', false],
])('the banner of a document, in strict mode, from another origin %s', (_, isProvided) => {
  const site = servePage('lock-banner.tsx')
  const store = memoryStore()
  let page: Page
  let server: HoldfastServer
  beforeAll(async () => {
    page = await site.open()
    const origins = [new URL(page.url()).origin]
    const heartbeat = 1000
    const settings = {
      port: 0,
      origins,
      rate: 0,
      logLevel: 'silent',
      leaseTokens: [TOKEN],
      heartbeat,
      // The client asks for plain names.
      eventNames: 'laravel',
    } as const
    server = await createServer({ store, settings })
  })
  afterAll(() => server?.close())

  type Scenarios = typeof scenarios
  const run = <N extends keyof Scenarios>(name: N, ...args: Parameters<Scenarios[N]>) =>
    runScenario<Scenarios, N>(page, name, ...args)
  const show = (room: string, name: string, token?: string) =>
    run('show', { url: server.url, room, name, isProvided, ...(token !== undefined && { token }) })
  const sockets = () => server.locks.channels.sockets

  it('a takeover that the server forbids is not offered again, and a request still is', async () => {
    const settings = { port: 0, origins: [new URL(page.url()).origin], logLevel: 'silent' } as const
    const authorize = (_: unknown, action: string) => action !== 'takeover'
    await using strict = await createServer({ store: memoryStore(), settings, authorize })
    const body = JSON.stringify({ name: 'Ken' })
    const headers = { 'content-type': 'application/json' }
    const lock = await fetch(`${strict.url}/api/documents/strict/lock`, { method: 'POST', body, headers })
    expect(lock.status).toBe(200)
    await run('show', { url: strict.url, room: 'strict', name: 'Mika', isProvided })
    const takeover = page.getByRole('button', { name: 'Take over' })
    await takeover.click()
    await page.getByText('Take over from').waitFor()
    await takeover.click()
    await page.getByText('You may not take over.').waitFor()
    await page.getByRole('button', { name: 'Ask for it' }).waitFor()
    expect(await takeover.count()).toBe(0)
  })

  it('sends its headers, and keeps the lock while they change, also if the sender is unknown for a while', async () => {
    await show('headers', 'Mika', TOKEN)
    await page.getByRole('button', { name: 'Write' }).click()
    await page.getByText('You are editing').waitFor()
    const [[lease] = []] = await store.read(['document:headers'])
    await show('headers', 'Mika Mori', TOKEN)
    await show('headers', 'Mika', TOKEN)
    await page.getByText('You are editing').waitFor()
    expect(await store.read(['document:headers'])).toMatchObject([[{ token: lease?.token }]])
    await show('headers', 'Mika', 'unknown')
    await page.getByText('You are signed out').waitFor()
    await page.getByTitle(/does not know this token/).waitFor()
    await show('headers', 'Mika', TOKEN)
    await page.getByText('You are editing').waitFor()
    expect(await store.read(['document:headers'])).toMatchObject([[{ token: lease?.token }]])
  })

  it('has one lock and one connection, also when it is mounted twice', async () => {
    await show('plan', 'Mika')
    await page.getByRole('button', { name: 'Write' }).click()
    await page.getByText('You are editing').waitFor()
    await expect.poll(sockets).toBe(1)
    expect(await store.read(['document:plan'])).toMatchObject([[{ metadata: { name: 'Mika' } }]])
  })

  it('keeps the lock when the name changes', async () => {
    const [[before] = []] = await store.read(['document:plan'])
    await show('plan', 'Mika Mori')
    await page.getByText('You are editing').waitFor()
    expect(await store.read(['document:plan'])).toMatchObject([[{ token: before?.token }]])
  })

  it('releases the lock when it shows another document, and when it is unmounted', async () => {
    await show('other', 'Mika')
    await expect.poll(() => store.read(['document:plan'])).toEqual([[]])
    await page.getByRole('button', { name: 'Write' }).click()
    await page.getByText('You are editing').waitFor()
    await run('unmount')
    await expect.poll(() => store.read(['document:other'])).toEqual([[]])
    await expect.poll(sockets).toBe(0)
  })

  it('has one session, also when two pages send their first requests at the same time', async () => {
    const pages = [await site.open(), await site.open()]
    await page.context().clearCookies()
    // Requests within this time are sent together.
    await page.context().route(`${server.url}/**`, (route) => setTimeout(() => route.continue(), 300))
    const cookies: Promise<string | null>[] = []
    page.context().on('response', (response) => cookies.push(response.headerValue('set-cookie')))
    const shown = { url: server.url, room: 'both', name: 'Mika', isProvided }
    await Promise.all(pages.map((at) => runScenario<Scenarios, 'show'>(at, 'show', shown)))
    await pages[0]?.getByRole('button', { name: 'Write' }).click()
    await pages[0]?.getByText('You are editing').waitFor()
    await pages[1]?.getByText('You are editing this in another tab.').waitFor()
    expect((await Promise.all(cookies)).filter((cookie) => cookie !== null)).toHaveLength(1)
  })
})
