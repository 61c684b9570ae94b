import { createConnection as connectWithCallbacks } from 'mysql2'
import { createPool, type Pool } from 'mysql2/promise'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { type MysqlClient, migrateMysql, mysqlStore } from '../../src/stores/mysql/index.ts'
import { describeStore } from '../../src/testing/index.ts'
import { type CuttableProxy, cuttableProxy } from './cuttable-proxy.ts'

const { HOLDFAST_TEST_MYSQL_URL: url = '' } = process.env
const database = `conformance_${process.pid}`
let admin: Pool
beforeAll(async () => {
  admin = createPool({ uri: url, connectionLimit: 2 })
  await admin.query(`create database ${database}`)
  await migrateMysql(admin, { database })
})
afterAll(async () => {
  await admin.query(`drop database ${database}`)
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
async function forgetAll(): Promise<void> {
  const table = `${database}.holdfast_leases`
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
