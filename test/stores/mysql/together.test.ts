import { createPool, type Pool } from 'mysql2/promise'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Ask, LeaseStore } from '../../../src/core/index.ts'
import { type MysqlClient, migrateMysql, mysqlStore } from '../../../src/stores/mysql/index.ts'
import { asking, grab } from '../asking.ts'

const { HOLDFAST_TEST_MYSQL_URL: url = '' } = process.env
const database = `together_${process.pid}`
let pool: Pool
beforeAll(async () => {
  pool = createPool({ uri: url })
  await pool.query(`create database ${database}`)
  await migrateMysql(pool, { database })
})
afterAll(async () => {
  await pool.query(`drop database ${database}`)
  await pool.end()
})

/** `fails`: called after each statement, before its answer is passed on. */
function storeOn(fails: (sql: string) => void = () => {}) {
  const sent: string[] = []
  const client: MysqlClient = {
    async getConnection() {
      const real = await pool.getConnection()
      const noted = async <T>({ sql }: { readonly sql: string }, answering: Promise<T>) => {
        sent.push(sql)
        const answer = await answering
        fails(sql)
        return answer
      }
      return {
        connection: real.connection,
        query: (options) => noted(options, real.query(options)),
        execute: (options) => noted(options, real.execute(options)),
        release: () => real.release(),
        destroy: () => real.destroy(),
      }
    },
  }
  return { store: mysqlStore(client, { database }), sent }
}

/** The grants; `null` if there are none. */
function together(store: LeaseStore, asks: readonly Ask[]) {
  return (store as Required<LeaseStore>).acquireAll(asks)
}

const asksFor = (...names: string[]) => names.map((name) => asking(name, { lost: () => {} }))

it('ten free resources are granted by one statement, and each is released by one plain statement', async () => {
  const { store, sent } = storeOn()
  await using _ = store
  await store.read(['r'])
  const asks = asksFor(...Array.from({ length: 10 }, (_, n) => `ten ${n}`))
  sent.length = 0
  const grants = await together(store, asks)
  expect(grants?.map(({ lease }) => lease.id)).toEqual(asks.map(({ id }) => id))
  expect(sent.filter((sql) => sql.startsWith('call'))).toHaveLength(1)
  sent.length = 0
  for (const { resource, id } of asks) expect((await store.release({ resource, id })).ended?.id).toBe(id)
  expect(sent.map((sql) => sql.slice(0, 6))).toEqual(asks.map(() => 'update'))
})

it('several requests whose answer was lost are granted the same leases when they are repeated', async () => {
  let isLost = true
  const { store } = storeOn((sql) => {
    if (!isLost || !sql.includes('_together`(')) return
    isLost = false
    throw Object.assign(new Error('the connection broke'), { code: 'PROTOCOL_CONNECTION_LOST' })
  })
  await using _ = store
  const asks = asksFor('lost b', 'lost a')
  await expect(together(store, asks)).rejects.toMatchObject({ code: 'store-unavailable' })
  const before = (await store.read(['lost b', 'lost a'])).map(([lease]) => lease?.token)
  const grants = await together(store, asks)
  expect(grants?.map(({ lease }) => lease.token)).toEqual(before)
  expect(before).not.toContain(undefined)
})

it('of callers that ask at once for the same resources in opposite orders, one is granted, and nothing is left of the others', async () => {
  const { store } = storeOn()
  await using _ = store
  for (let round = 0; round < 5; round++) {
    const names = Array.from({ length: 6 }, (_, n) => `opposite ${round} ${n}`)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        together(store, asksFor(...(n % 2 === 0 ? names : names.toReversed()))),
      ),
    )
    const granted = answers.filter((answer) => answer !== null)
    expect(granted).toHaveLength(1)
    const held = (await store.read(names)).map((leases) => leases.map(({ id }) => id))
    const inOrder = granted[0]?.toSorted((a, b) => (a.lease.resource < b.lease.resource ? -1 : 1))
    expect(held).toEqual(inOrder?.map(({ lease }) => [lease.id]))
  }
})

it('several requests leave no row of a free resource if another one is held', async () => {
  const { store } = storeOn()
  await using _ = store
  await grab(store, 'free 2')
  expect(await together(store, asksFor('free 1', 'free 2', 'free 3'))).toBeNull()
  const [rows] = await pool.query(`select count(*) as rows_left from ${database}.holdfast_leases
    where resource in ('free 1', 'free 3')`)
  expect(rows).toEqual([{ rows_left: 0 }])
})

it('several requests read the clock after they have locked all rows', async () => {
  const { store } = storeOn()
  await using _ = store
  const { id } = await grab(store, 'clock b')
  await store.release({ resource: 'clock b', id })
  const connection = await pool.getConnection()
  await connection.query('start transaction')
  await connection.query(`select * from ${database}.holdfast_leases where resource = 'clock b' for update`)
  const granting = together(store, asksFor('clock a', 'clock b'))
  await expect.poll(waiters).toBe(1)
  // The lease of another caller ended while they waited.
  const [[{ now } = { now: 0 }]] = (await connection.query(
    `select timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) as now`,
  )) as unknown as [{ now: number }[]]
  await connection.query(
    `update ${database}.holdfast_leases set ended_at = ${now} where resource = 'clock b'`,
  )
  await connection.query('commit')
  connection.release()
  for (const { lease } of (await granting) ?? []) expect(lease.token).toBeGreaterThan(now)
})

async function waiters(): Promise<number> {
  const [[{ waits } = { waits: 0 }]] = (await pool.query(
    `select count(*) as waits from information_schema.innodb_trx where trx_state = 'LOCK WAIT' and trx_query like '%${database}%'`,
  )) as unknown as [{ waits: number }[]]
  return waits
}
