import { httpStore } from '../../src/client/http-store.ts'
import { createServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { describeScenarios } from './describe-scenarios.ts'

const TOKEN = 'a-token-of-a-worker'

describeScenarios('the HTTP store', async () => {
  const kept = memoryStore()
  const settings = { port: 0, leaseTokens: [TOKEN], rate: 0, logLevel: 'silent' } as const
  const server = await createServer({ store: kept, settings, log: () => {} })
  return {
    async open() {
      const store = httpStore(server.url, { token: TOKEN })
      return { store, close: () => store.close() }
    },
    async close() {
      await server.close()
      await kept.close()
    },
  }
})
