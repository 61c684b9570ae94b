import type { Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { eventually } from '../eventually.ts'
import type { scenarios } from './pages/hints.ts'
import { runScenario } from './run-scenario.ts'
import { servePage } from './served-page.ts'

const site = servePage('hints.ts')

it('a page whose server is missing is told so once, in the console', async () => {
  const server = await serve()
  await server.close()
  const { page, warnings } = await open()
  expect(await acquireTwice(page, server.url)).toBe('error')
  await eventually(() => expect(warnings).toHaveLength(1))
  expect(warnings[0]).toBe(
    `Holdfast: no server answers at ${server.url}/. Start a server with \`npx holdfast serve\`, or set the option \`url\` to the address of yours.`,
  )
})

it.each(['holdfast', 'another-key'])(
  'a page of another origin is told which setting allows it (key %s)',
  async (channelKey) => {
    const server = await serve({ channelKey })
    const { page, warnings } = await open()
    const { origin } = new URL(page.url())
    expect(await acquireTwice(page, server.url)).toBe('error')
    await eventually(() => expect(warnings).toHaveLength(1))
    expect(warnings[0]).toBe(
      `Holdfast: pages of ${origin} may not call ${server.url}/. Set origins: ['${origin}'] in the settings of the server, or start it with --origins ${origin}.`,
    )
  },
)

it('a page whose own server is not Holdfast is told so', async () => {
  const { page, warnings } = await open()
  expect(await acquireTwice(page)).toBe('error')
  await eventually(() => expect(warnings).toHaveLength(1))
  expect(warnings[0]).toContain(
    `${page.url()} answered 200 with something that is not a response of Holdfast.`,
  )
})

it('a page that calls its server by another name of the machine is told that the cookie is not kept', async () => {
  const { page } = await open()
  const { origin, hostname } = new URL(page.url())
  const server = await serve({ origins: [origin] })
  const other = hostname === 'localhost' ? '127.0.0.1' : 'localhost'
  expect(await acquireTwice(page, server.url.replace(/127\.0\.0\.1|localhost/, other))).toBe('error')
  expect(await runScenario<typeof scenarios, 'why'>(page, 'why')).toContain(
    'by the host name of the page (localhost is not 127.0.0.1)',
  )
})

it('a page whose server has answered is told nothing when the server stops', async () => {
  const { page, warnings } = await open()
  const { origin } = new URL(page.url())
  const server = await serve({ origins: [origin] })
  expect(await acquireTwice(page, server.url)).toBe('held')
  await server.close()
  expect(await runScenario<typeof scenarios, 'save'>(page, 'save')).toBe(false)
  // Another address is explained as before, so whatever the first one caused has been printed by then.
  expect(await acquireTwice(page)).toBe('error')
  await eventually(() => expect(warnings).not.toEqual([]))
  expect(warnings.join()).not.toContain(server.url)
})

async function serve(settings: { channelKey?: string; origins?: string[] } = {}): Promise<HoldfastServer> {
  const given = { port: 0, rate: 0, logLevel: 'silent', ...settings } as const
  const server = await createServer({ store: memoryStore(), settings: given })
  onTestFinished(() => server.close())
  return server
}

async function open(): Promise<{ page: Page; warnings: string[] }> {
  const page = await site.open()
  const warnings: string[] = []
  page.on('console', (message) => {
    if (message.text().startsWith('Holdfast')) warnings.push(message.text())
  })
  return { page, warnings }
}

function acquireTwice(page: Page, url?: string): Promise<string> {
  return runScenario<typeof scenarios, 'acquireTwice'>(page, 'acquireTwice', url)
}
