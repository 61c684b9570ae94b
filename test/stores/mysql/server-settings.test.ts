/** Settings of a server or a session that applications and administrators use. Leases must not depend on them. */
import { createPool, type Pool } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createLeases, type LeaseStore } from '../../../src/core/index.ts'
import { mysqlDocuments } from '../../../src/server/index.ts'
import { migrateMysql, mysqlStore } from '../../../src/stores/mysql/index.ts'
import { HANG_MS } from '../../hang-limit.ts'

const { HOLDFAST_TEST_MYSQL_URL: url = '' } = process.env
const database = `settings_${process.pid}`
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

const SETTINGS = [
  'sql_safe_updates = 1',
  'completion_type = CHAIN',
  "sql_mode = 'ANSI_QUOTES'",
  "sql_mode = 'NO_BACKSLASH_ESCAPES'",
  "sql_mode = 'ANSI,TRADITIONAL,PAD_CHAR_TO_FULL_LENGTH'",
  "sql_mode = ''",
  "sql_mode = 'ORACLE'",
  'autocommit = 0',
  'innodb_lock_wait_timeout = 1',
  'transaction_isolation = SERIALIZABLE',
  "time_zone = '-11:30'",
  'sql_select_limit = 1',
  'sql_auto_is_null = 1',
]

/** A pool whose connections begin with this setting. */
function poolWith(setting: string): Pool {
  const pool = createPool({ uri: url, database, connectionLimit: 4 })
  pool.pool.on('connection', (connection) => connection.query(`set session ${setting}`, () => {}))
  onTestFinished(() => pool.end())
  return pool
}

/** Two stores on such a pool. */
function openWith(setting: string, table = 'holdfast_leases'): [LeaseStore, LeaseStore] {
  const pool = poolWith(setting)
  const open = () => mysqlStore(pool, { table })
  const stores: [LeaseStore, LeaseStore] = [open(), open()]
  onTestFinished(async () => {
    for (const store of stores) await store.close()
  })
  return stores
}

describe('leases work with', () => {
  it.each(SETTINGS)('%s', async (setting) => {
    const [store, other] = openWith(setting)
    const leases = createLeases(store, { wait: HANG_MS })
    const others = createLeases(other, { wait: HANG_MS })
    const changes: string[] = []
    const watch = await others.watch({}, ({ type }) => changes.push(type))
    const quoted = `it's "a" \\ name`
    const lease = await leases.acquire(quoted, { metadata: { text: quoted } })
    expect(await others.inspect(quoted)).toMatchObject({ id: lease.id, metadata: { text: quoted } })
    const order: number[] = []
    const waiting = []
    for (const n of [1, 2, 3]) {
      waiting.push((n % 2 ? leases : others).withLease(quoted, async () => order.push(n)))
      await expect.poll(async () => (await leases.waiting(quoted)).length).toBe(n)
    }
    await lease.renew()
    await lease.release()
    await Promise.all(waiting)
    expect(order).toEqual([1, 2, 3])
    const readers = await Promise.all([1, 2, 3].map(() => leases.acquire('shared', { share: 3 })))
    expect(await others.holders('shared')).toHaveLength(3)
    await Promise.all(readers.map((reader) => reader.release()))
    const kept = await leases.acquire('kept', { atLeast: 1, lockDelay: 1 })
    await kept.release()
    const all = await leases.acquireAll(['a', 'b'])
    expect(await others.list()).toMatchObject({ leases: [{ resource: 'a' }, { resource: 'b' }] })
    await all.release()
    await store.sweep({ limit: 10 })
    await store.check?.()
    await expect.poll(() => changes.filter((type) => type === 'released').length).toBeGreaterThanOrEqual(4)
    await watch.close()
    await Promise.all([leases.close(), others.close()])
  })
})

describe('the tables', () => {
  it.each(['sql_safe_updates = 1', 'autocommit = 0', "sql_mode = 'ANSI,TRADITIONAL,NO_BACKSLASH_ESCAPES'"])(
    'are created with %s',
    async (setting) => {
      const [store] = openWith(setting, `created ${setting}`.slice(0, 40))
      await store.check?.()
    },
  )

  it('the tables are not created with sql_mode ORACLE, and the error says what to do', async () => {
    const [store] = openWith("sql_mode = 'ORACLE'", 'oracle')
    await expect(store.read([])).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringMatching(
        /cannot be created with sql_mode ORACLE: call migrateMysql with a client/,
      ),
    })
    await migrateMysql(admin, { database, table: 'oracle' })
    expect(await store.read(['r'])).toEqual([[]])
  })
})

it('contents are fenced, saved, checked and swept with sql_safe_updates', async () => {
  const documents = mysqlDocuments(poolWith('sql_safe_updates = 1'))
  const grant = { token: 1, holder: 'Mika' }
  expect(await documents.fence('room', grant)).toBe(true)
  expect(await documents.save('room', grant, 'text')).toMatchObject({ saved: true })
  await documents.check?.()
  await documents.sweep?.()
  expect(await documents.read('room')).toMatchObject({ content: 'text' })
})
