/** A Holdfast server in a process of its own, with its leases in memory. */
import { createServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'

const server = await createServer({
  store: memoryStore(),
  settings: {
    port: 0,
    logLevel: 'warn',
    rate: 0,
    leaseTokens: ['lease-token-of-a-bench'],
    cookieSecrets: ['the cookie secret of a bench'],
    channelSecret: 'the channel secret of a bench',
  },
})
process.on('disconnect', () => process.exit())
process.send?.(server.port)
