import pg from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { describeStore } from '../../src/testing/index.ts'
import { cuttableProxy } from './cuttable-proxy.ts'
import { drivers, serverUrl } from './postgres/drivers.ts'

const admin = new pg.Pool({ connectionString: serverUrl, max: 2 })
afterAll(() => admin.end())

let count = 0

for (const [name, connect] of Object.entries(drivers)) {
  describeStore(name, {
    runner: { describe, it },
    create: async () => {
      const schema = `conformance_${process.pid}_${++count}`
      const { hostname, port } = new URL(serverUrl)
      const proxy = await cuttableProxy(hostname, Number(port))
      const url = new URL(serverUrl)
      url.host = proxy.address
      const near = await connect(url.href, schema)
      const far = await connect(serverUrl, `${schema} peer`)
      const store = postgresStore(near.client, { schema })
      const peer = postgresStore(far.client, { schema })
      return {
        schema,
        proxy,
        near,
        store,
        peer,
        dispose: async () => {
          await Promise.all([store.close(), peer.close()])
          await Promise.all([near.end(), far.end()])
          await proxy[Symbol.asyncDispose]()
          await admin.query(`drop schema if exists ${schema} cascade`)
        },
      }
    },
    reopen: async ({ near, schema }) => postgresStore(near.client, { schema }),
    ...(name !== 'pg Client' && {
      outage: async ({ proxy }) => {
        proxy.cut()
        return async () => proxy.mend()
      },
    }),
    interruptWatch: async ({ schema }) => {
      await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and query ilike 'listen%'`,
        [schema],
      )
    },
  })
}
