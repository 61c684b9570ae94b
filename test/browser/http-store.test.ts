import { expect, it, onTestFinished } from 'vitest'
import { createServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import type { scenarios } from './pages/http-store.ts'
import { runScenario } from './run-scenario.ts'
import { servePage } from './served-page.ts'

const TOKEN = 'the-token-of-a-page'
const site = servePage('http-store.ts')

it('httpStore works in a page on plain http, which has no crypto.randomUUID', async () => {
  const page = await site.open()
  // Pages of this host are not secure, unlike those of 127.0.0.1.
  await page.goto(page.url().replace('127.0.0.1', 'plain.test'))
  const origins = [new URL(page.url()).origin]
  const settings = { port: 0, origins, rate: 0, logLevel: 'silent', leaseTokens: [TOKEN] } as const
  const server = await createServer({ store: memoryStore(), settings })
  onTestFinished(() => server.close())
  const result = await runScenario<typeof scenarios, 'handOver'>(page, 'handOver', server.url, TOKEN)
  expect(result).toEqual({ isSecure: false, hasRandomUuid: false, rises: true })
})
