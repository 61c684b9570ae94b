/** The stores that no torture tests: in memory, and at a server of Holdfast. */
import { afterAll, beforeAll, describe, it } from 'vitest'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { describeLifetime } from '../../src/testing/node/index.ts'
import { OPEN_STORE } from './torture.ts'

const TOKEN = 'a-token-of-a-worker'
const runner = { describe, it }

describeLifetime('memory', { runner, module: OPEN_STORE, address: () => 'memory:' })

let server: HoldfastServer
beforeAll(async () => {
  const settings = { port: 0, leaseTokens: [TOKEN], logLevel: 'silent' } as const
  server = await createServer({ store: memoryStore(), settings, log: () => {} })
})
afterAll(() => server.close())

describeLifetime('http', {
  runner,
  module: OPEN_STORE,
  address: () => `http://${TOKEN}@127.0.0.1:${server.port}`,
})
