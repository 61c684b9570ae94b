import { createConnection as connectWithCallbacks } from 'mysql2'
import { type Connection, createConnection, createPool, type Pool } from 'mysql2/promise'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { type MysqlClient, migrateMysql, mysqlStore } from '../../src/stores/mysql/index.ts'
import { describeStore } from '../../src/testing/index.ts'
import { type CuttableProxy, cuttableProxy } from './cuttable-proxy.ts'
import { makeSteppedClock } from './mysql/stepped-clock.ts'

const { HOLDFAST_TEST_MYSQL_URL: url = '' } = process.env
const database = `conformance_${process.pid}`
let admin: Pool
beforeAll(async () => {
  admin = createPool({ uri: url, connectionLimit: 2 })
  await admin.query(`create database ${database}`)
  await migrateMysql(admin, { database })
  await admin.query(`create database ${stepped}`)
  await migrateMysql(admin, { database: stepped })
  await makeSteppedClock(admin, stepped)
})
afterAll(async () => {
  await admin.query(`drop database ${database}`)
  await admin.query(`drop database ${stepped}`)
  await admin.end()
})

const runner = { describe, it }

describeStore('mysql2/promise Pool', {
  runner,
  create: () => openPair((uri) => createPool(uri)),
  reopen: async ({ open }) => open(),
  outage: cut,
  interruptWatch: lapse,
})

// No outage for a single connection: it cannot connect again.
describeStore('mysql2 Connection with callbacks', {
  runner,
  create: () => openPair(connectWithCallbacks),
  reopen: async ({ open }) => open(),
  interruptWatch: lapse,
})

const stepped = `${database}_stepped`
let step = 0

describeStore('mysql2 with a stepped clock', {
  runner,
  create: async () => {
    const connection = await createConnection(url)
    step = 0
    const store = mysqlStore(atSteppedTime(connection), { database: stepped })
    return {
      store,
      async dispose() {
        await store.close()
        await connection.end()
        await forgetAll(stepped)
      },
    }
  },
  stepClock: (_, ms) => {
    step += ms
  },
})

function atSteppedTime(connection: Connection): MysqlClient {
  const query: Connection['query'] = (options: never) => {
    // Both are sent at once, and the server runs them in this order.
    connection.query(`set timestamp = ${(Date.now() + step) / 1000}`).catch(() => {})
    return connection.query(options) as never
  }
  return { query, execute: () => {} } as unknown as MysqlClient
}

/** A store whose connections can be cut, and a peer. */
async function openPair<C extends MysqlClient & Ends>(connect: (uri: string) => C) {
  const address = new URL(url)
  const proxy = await cuttableProxy(address.hostname, Number(address.port || 3306))
  address.host = proxy.address
  const near = connect(address.href)
  const far = createPool(url)
  const open = () => mysqlStore(near, { database })
  const store = open()
  const peer = mysqlStore(far, { database })
  return {
    proxy,
    store,
    peer,
    open,
    async dispose() {
      await Promise.all([store.close(), peer.close()])
      await Promise.all([endOf(near), far.end()])
      await proxy[Symbol.asyncDispose]()
      await forgetAll()
    },
  }
}

interface Ends {
  end(): unknown
  promise?(): { end(): Promise<unknown> }
}

async function endOf(client: Ends): Promise<void> {
  await (client.promise?.() ?? client).end()
}

/** Creating tables and procedures takes a second, so all tests use the same. */
async function forgetAll(within = database): Promise<void> {
  const table = `${within}.holdfast_leases`
  for (const name of ['', '_holders', '_waiters', '_channels', '_messages'])
    await admin.query(`delete from ${table}${name}`)
  await admin.query(`update ${table}_meta set floor = 0, watch_until = 0`)
}

async function cut({ proxy }: { readonly proxy: CuttableProxy }): Promise<() => Promise<void>> {
  proxy.cut()
  return async () => proxy.mend()
}

/** As if the process had stood still for longer than others announce changes to it. */
async function lapse(): Promise<void> {
  await admin.query(`update ${database}.holdfast_leases_channels set watch_until = 0`)
}
