/** A server in a process of its own: the service on a SQLite file, and beside it an empty route of the same framework. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { createServer, openSqlite, sqliteAudit, sqliteDocuments } from '../../src/server/node/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'

const [path = '', synchronous = 'full'] = process.argv.slice(2)
const database = openSqlite(path)
const store = sqliteStore(path, { synchronous: synchronous === 'full' ? 'full' : 'normal' })
const server = await createServer({
  store,
  documents: sqliteDocuments(database),
  audit: sqliteAudit(database),
  settings: {
    port: 0,
    logLevel: 'warn',
    rate: 0,
    cookieSecrets: ['the cookie secret of a bench'],
    channelSecret: 'the channel secret of a bench',
  },
})

const answer = {
  success: true,
  locked_at: new Date().toISOString(),
  expires_at: new Date().toISOString(),
  expires_in_ms: 30_000,
  token: Date.now() * 1000,
}
const empty = new Hono().put('/empty/:roomId/lock', async (context) => {
  await context.req.json()
  return context.json(answer)
})
const bare = createAdaptorServer({ fetch: empty.fetch })
bare.listen(0, '127.0.0.1')
await once(bare, 'listening')

process.on('disconnect', () => process.exit())
process.on('message', () => process.send?.({ rss: process.memoryUsage.rss(), cpu: process.cpuUsage() }))
process.send?.({ port: server.port, bare: (bare.address() as AddressInfo).port })
