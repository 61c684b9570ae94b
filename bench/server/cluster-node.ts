/** One of several nodes on a database, in a process of its own. */
import { Redis } from 'ioredis'
import pg from 'pg'
import {
  postgresAudit,
  postgresBus,
  postgresDocuments,
  redisAudit,
  redisBus,
  redisDocuments,
} from '../../src/server/index.ts'
import { createServer } from '../../src/server/node/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'

const [url = ''] = process.argv.slice(2)
const server = await createServer({
  ...partsAt(url),
  settings: {
    port: 0,
    logLevel: 'error',
    rate: 0,
    maxSockets: 100_000,
    cookieSecrets: ['the cookie secret of a bench'],
    channelSecret: 'the channel secret of a bench',
  },
})
process.on('disconnect', () => process.exit())
process.on('message', () => process.send?.(process.cpuUsage()))
process.send?.(server.port)

function partsAt(url: string) {
  if (url.startsWith('redis:')) {
    const client = new Redis(url)
    return {
      store: redisStore(client),
      bus: redisBus(client),
      documents: redisDocuments(client),
      audit: redisAudit(client),
    }
  }
  const pool = new pg.Pool({ connectionString: url, max: 8 })
  return {
    store: postgresStore(pool),
    bus: postgresBus(pool),
    documents: postgresDocuments(pool),
    audit: postgresAudit(pool),
  }
}
