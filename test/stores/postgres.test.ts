import pg from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import type { PostgresStoreOptions } from '../../src/stores/postgres/options.ts'
import { describeStore, skewDate } from '../../src/testing/index.ts'
import { type CuttableProxy, cuttableProxy } from '../../src/testing/node/cuttable-proxy.ts'
import { noticesMistake } from './notices-mistake.ts'
import { LISTENS } from './postgres/bed.ts'
import { type Connect, drivers } from './postgres/drivers.ts'
import { type Pooler, startPgbouncer } from './postgres/pgbouncer.ts'

const { HOLDFAST_TEST_POSTGRES_URL: serverUrl = '' } = process.env
const admin = new pg.Pool({ connectionString: serverUrl, max: 2 })
let pooler: Pooler
beforeAll(async () => {
  pooler = await startPgbouncer(serverUrl)
})
afterAll(async () => {
  await pooler[Symbol.asyncDispose]()
  await admin.end()
})

const runner = { describe, it }

const skewCaller = (_: unknown, ms: number) => skewDate(ms)

const onPool = {
  runner,
  create: () => openPair(drivers['pg Pool']),
  reopen: async ({ open }: Pair) => open(),
  outage: cut,
  interruptWatch: dropListener,
  skewCaller,
}
describeStore('pg Pool', onPool)
noticesMistake('pg Pool', 'expiry by the clock of the caller', onPool)

describeStore('postgres.js', {
  runner,
  skewCaller,
  create: () => openPair(drivers['postgres.js']),
  reopen: async ({ open }) => open(),
  outage: cut,
  interruptWatch: dropListener,
})

// No outage for a single client: it cannot connect again.
describeStore('pg Client', {
  runner,
  create: async () => {
    const schema = nextSchema()
    await makeSteppedClock(schema)
    return openPair(drivers['pg Client'], { schema, startup: `-c search_path=${schema},pg_catalog` })
  },
  reopen: async ({ open }) => open(),
  interruptWatch: dropListener,
  stepClock: ({ schema, client }, ms) => {
    ;(client as pg.Client).query(`update ${schema}.step set by = by + ${ms} * interval '1 ms'`)
  },
})

describeStore('pg Pool behind PgBouncer in transaction mode, with listen', {
  runner,
  create: () => openPair(drivers['pg Pool'], { url: pooler.url, listen: { connectionString: serverUrl } }),
  reopen: async ({ open }) => open(),
  outage: cut,
})

type Pair = Awaited<ReturnType<typeof openPair>>

interface PairOptions {
  readonly url?: string
  readonly listen?: PostgresStoreOptions['listen']
  readonly schema?: string
  /** Settings of the store's own connections. */
  readonly startup?: string
}

/** A store whose connections can be cut, and a peer. */
async function openPair(connect: Connect, options: PairOptions = {}) {
  const { url = serverUrl, listen, schema = nextSchema(), startup } = options
  const address = new URL(url)
  const proxy = await cuttableProxy(address.hostname, Number(address.port || 5432))
  address.host = proxy.address
  const near = await connect(address.href, schema, startup)
  const far = await connect(url, `${schema} peer`)
  const open = () => postgresStore(near.client, { schema, ...(listen && { listen }) })
  const store = open()
  const peer = postgresStore(far.client, { schema, ...(listen && { listen }) })
  return {
    schema,
    proxy,
    client: near.client,
    store,
    peer,
    open,
    async dispose() {
      await Promise.all([store.close(), peer.close()])
      await Promise.all([near.end(), far.end()])
      await proxy[Symbol.asyncDispose]()
      await admin.query(`drop schema if exists ${schema} cascade`)
    },
  }
}

let schemas = 0

function nextSchema(): string {
  return `conformance_${process.pid}_${++schemas}`
}

/** Puts a `clock_timestamp()` into the schema, for connections with that schema first in their search path. */
async function makeSteppedClock(schema: string): Promise<void> {
  await admin.query(`
    create schema ${schema};
    create table ${schema}.step as select interval '0' as by;
    create function ${schema}.clock_timestamp() returns timestamptz language sql volatile as
      'select pg_catalog.clock_timestamp() + by from ${schema}.step'`)
}

async function cut({ proxy }: { readonly proxy: CuttableProxy }): Promise<() => Promise<void>> {
  proxy.cut()
  return async () => proxy.mend()
}

async function dropListener({ schema }: { readonly schema: string }): Promise<void> {
  await admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and ${LISTENS}`,
    [schema],
  )
}
