import { createPool, type Pool } from 'mysql2/promise'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type MysqlClient, migrateMysql, mysqlStore } from '../../../src/stores/mysql/index.ts'
import { asking, grab } from '../asking.ts'

const { HOLDFAST_TEST_MYSQL_URL: url = '' } = process.env
const database = `plain_${process.pid}`
let pool: Pool
let sent: string[]
beforeAll(async () => {
  pool = createPool({ uri: url })
  await pool.query(`create database ${database}`)
  await migrateMysql(pool, { database })
})
afterAll(async () => {
  await pool.query(`drop database ${database}`)
  await pool.end()
})
beforeEach(() => {
  sent = []
})

/** Notes the first word of each statement. */
function notedPool(): MysqlClient {
  const note = ({ sql }: { readonly sql: string }) => sent.push(sql.slice(0, 6))
  return {
    async getConnection() {
      const real = await pool.getConnection()
      return {
        connection: real.connection,
        query(options) {
          note(options)
          return real.query(options)
        },
        execute(options) {
          note(options)
          return real.execute(options)
        },
        release: () => real.release(),
        destroy: () => real.destroy(),
      }
    },
  }
}

async function warmStore() {
  const store = mysqlStore(notedPool(), { database })
  await store.read(['r'])
  sent = []
  return store
}

/** The store tells this process of a loss, so it knows the lease when it is released. */
const holding = { lost: () => {} }

it('a lease that nobody else wants is acquired, renewed and released by one plain statement each', async () => {
  await using store = await warmStore()
  for (let round = 0; round < 2; round++) {
    const { id, token } = await grab(store, 'alone', { metadata: { round }, ...holding })
    const renewal = await store.renew({ resource: 'alone', id, ttl: 700_000 })
    expect(renewal).toMatchObject({ ok: true, lease: { token, remaining: 700_000, metadata: { round } } })
    const [[stored] = []] = await store.read(['alone'])
    const { ended } = await store.release({ resource: 'alone', id })
    expect(ended).toEqual({ ...stored, remaining: 0, state: 'released' })
  }
  expect(sent.filter((word) => word !== '(selec')).toEqual([
    ...['insert', 'update', 'update'],
    ...['update', 'update', 'update'],
  ])
})

it('a resource that was released here, and whose row was deleted or taken since, is left to the procedures', async () => {
  await using store = await warmStore()
  await using other = mysqlStore(pool, { database })
  const { id, token } = await grab(store, 'again', holding)
  await store.release({ resource: 'again', id })
  const taken = await grab(other, 'again')
  expect(await store.acquire(asking('again'))).toMatchObject({ granted: false, holders: [{ id: taken.id }] })
  await other.release({ resource: 'again', id: taken.id })
  const second = await grab(store, 'again', holding)
  await store.release({ resource: 'again', id: second.id })
  await pool.query(`delete from ${database}.holdfast_leases where resource = 'again'`)
  const third = await grab(store, 'again', holding)
  expect(third.token).toBeGreaterThan(second.token)
  expect(second.token).toBeGreaterThan(token)
  expect(sent).toEqual(['insert', 'update', 'update', 'call `', 'insert', 'update', 'update', 'call `'])
})

it('of ten who ask at once for a resource that all of them have released before, one is granted', async () => {
  await using stores = new AsyncDisposableStack()
  const all = Array.from({ length: 10 }, () => stores.use(mysqlStore(pool, { database })))
  let last = 0
  for (const store of all) {
    const { id, token } = await grab(store, 'at once', holding)
    expect(token).toBeGreaterThan(last)
    last = token
    await store.release({ resource: 'at once', id })
  }
  const answers = await Promise.all(all.map((store) => store.acquire(asking('at once'))))
  const [lease, ...more] = answers.flatMap((answer) => (answer.granted ? [answer.lease] : []))
  expect(lease?.token).toBeGreaterThan(last)
  expect(more).toEqual([])
})

it('a resource that is held, or was held and watched, is left to the procedures', async () => {
  await using store = await warmStore()
  await using other = mysqlStore(pool, { database })
  const { id } = await grab(other, 'contended')
  expect(await store.acquire(asking('contended'))).toMatchObject({ granted: false, holders: [{ id }] })
  await other.release({ resource: 'contended', id })
  await using _ = await other.watch(() => {})
  const { id: second } = await grab(store, 'contended')
  const { ended } = await store.release({ resource: 'contended', id: second })
  expect(ended).toMatchObject({ id: second })
  expect(sent).toEqual(['insert', 'call `', 'insert', 'call `', 'call `'])
})

it('a connection of the pool that is within a transaction is closed, and what it was granted is undone', async () => {
  const single = createPool({ uri: url, connectionLimit: 1 })
  try {
    await using store = mysqlStore(single, { database })
    await store.read(['r'])
    const abandoned = await single.getConnection()
    await abandoned.query('start transaction')
    abandoned.release()
    const failing = store.acquire(asking('within'))
    await expect(failing).rejects.toMatchObject({ code: 'store-unavailable' })
    expect((await store.acquire(asking('within'))).granted).toBe(true)
  } finally {
    await single.end()
  }
})
