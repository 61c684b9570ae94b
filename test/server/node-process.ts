/** One node of a service, in its own process that can be killed: `node-process.ts <store> <postgres> <name>`. */
import { Redis } from 'ioredis'
import pg from 'pg'
import { postgresAudit, postgresBus, postgresDocuments, redisBus } from '../../src/server/index.ts'
import { createServer } from '../../src/server/node/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { NODE_SETTINGS } from './node-settings.ts'

const [address = '', postgres = '', name = ''] = process.argv.slice(2)

const pool = new pg.Pool({ connectionString: postgres, max: 4 })
pool.on('error', () => {})

const server = await createServer({
  ...(address.startsWith('redis:') ? onRedis() : onPostgres()),
  documents: postgresDocuments(pool, { table: `documents_${name}` }),
  audit: postgresAudit(pool, { table: `audit_${name}` }),
  settings: { ...NODE_SETTINGS, port: 0, logLevel: 'error' },
})
process.send?.({ port: server.port })
process.on('disconnect', () => process.exit())
process.on('message', () => void server.close().then(() => process.exit()))

function onPostgres() {
  return {
    store: postgresStore(pool, { table: `leases_${name}` }),
    bus: postgresBus(pool, { channel: `bus_${name}` }),
  }
}

function onRedis() {
  const client = new Redis(address)
  client.on('error', () => {})
  return { store: redisStore(client, { prefix: name }), bus: redisBus(client, { channel: `bus:${name}` }) }
}
