import { expect, it, onTestFinished } from 'vitest'
import { createServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import type { scenarios } from './pages/laravel-echo.ts'
import { runScenario } from './run-scenario.ts'
import { servePage } from './served-page.ts'

const site = servePage('laravel-echo.ts')

it('Echo on a Laravel page of another origin joins private and presence channels', async () => {
  const page = await site.open()
  const settings = { port: 0, origins: [new URL(page.url()).origin], logLevel: 'silent' } as const
  const server = await createServer({ store: memoryStore(), settings })
  onTestFinished(() => server.close())
  const { channelKey } = server.settings
  const result = await runScenario<typeof scenarios, 'join'>(page, 'join', server.url, channelKey, 'draft')
  expect(result).toMatchObject({
    outcomes: ['subscribed', 'subscribed'],
    heard: { room_id: 'draft', holder: { session_id: expect.any(String) } },
  })
})
