import { type Connection, createConnection, createPool, type Pool, type PoolOptions } from 'mysql2/promise'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LeaseStore } from '../../../src/core/index.ts'
import { migrateMysql, mysqlStore } from '../../../src/stores/mysql/index.ts'
import type { MysqlStoreOptions } from '../../../src/stores/mysql/options.ts'
import { asking, grab } from '../asking.ts'

const { HOLDFAST_TEST_MYSQL_URL: url = '' } = process.env

let admin: Connection
let database: string
let ends: (() => Promise<unknown>)[]
beforeEach(async () => {
  ends = []
  admin = await createConnection(url)
  database = `bed_${crypto.randomUUID().replaceAll('-', '')}`
  await admin.query(`create database ${database}`)
})
afterEach(async () => {
  for (const end of ends.toReversed()) await end()
  await admin.query(`drop database if exists ${database}`)
  await admin.end()
})

function pool(options: PoolOptions = {}): Pool {
  const made = createPool({ uri: url, ...options })
  ends.push(() => made.end())
  return made
}

function store(client: Pool | Connection = pool(), options: MysqlStoreOptions = {}): LeaseStore {
  const made = mysqlStore(client, { database, ...options })
  ends.push(() => made.close())
  return made
}

describe('the migration', () => {
  it('the migration works when eight nodes start at the same moment', async () => {
    // On a busy machine it may take longer than a call usually may.
    const call = { timeout: 60_000 }
    const answers = await Promise.all(Array.from({ length: 8 }, () => store().acquire(asking('r'), call)))
    expect(answers.filter(({ granted }) => granted)).toHaveLength(1)
  })

  it('the migration does not run if migrate is false', async () => {
    const careful = store(pool(), { migrate: false })
    await expect(careful.read(['r'])).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('call migrateMysql first'),
    })
    await migrateMysql(pool(), { database })
    expect(await careful.read(['r'])).toEqual([[]])
  })

  it('the migration creates again what somebody dropped, and refuses tables of a newer version', async () => {
    const running = store()
    const { token } = await grab(running, 'r')
    await admin.query(`drop procedure ${database}.holdfast_leases_v5_settle`)
    expect(await running.acquire(asking('r'))).toMatchObject({ granted: false, holders: [{ token }] })
    await admin.query(`drop table ${database}.holdfast_leases_waiters`)
    expect(await running.acquire(asking('r', { wake: () => {} }))).toMatchObject({ place: 0 })
    await admin.query(`delete from ${database}.holdfast_leases_meta`)
    expect((await grab(running, 'other')).token).toBeGreaterThan(token)
    const [floors] = await admin.query(`select floor from ${database}.holdfast_leases_meta`)
    expect(floors).toEqual([{ floor: token }])
    await admin.query(`update ${database}.holdfast_leases_meta set version = 99, oldest = 99`)
    await expect(store().acquire(asking('r'))).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('is of version 99, and this holdfast knows 2: update the package'),
    })
  })

  it('the migration takes over the leases and queues of version 1, whose nodes then fail', async () => {
    await createVersion1(admin, database)
    const upgraded = store()
    expect(await upgraded.acquire(asking('held'))).toMatchObject({
      granted: false,
      holders: [{ id: 'old', token: 5 }],
    })
    expect(await upgraded.list({ limit: 9 })).toMatchObject({ leases: [{ resource: 'held', id: 'old' }] })
    expect(await upgraded.release({ resource: 'held', id: 'old' })).toMatchObject({ ended: { token: 5 } })
    expect((await grab(upgraded, 'held')).token).toBeGreaterThan(5)
    expect((await grab(upgraded, 'ahead')).token).toBe(AHEAD + 1)
    const [versions] = await admin.query(`select version, oldest from ${database}.holdfast_leases_meta`)
    expect(versions).toEqual([{ version: 2, oldest: 2 }])
    const [procedures] = await admin.query('show procedure status where db = ? and name like ?', [
      database,
      '%v1%',
    ])
    expect(procedures).toEqual([])
  })

  it.each(["Robert'); drop table students; --", 'back\\slash `tick` "double" $1 ?', 'Größe 界 %'])(
    'accepts the name %s for a table',
    async (table) => {
      const named = store(pool(), { table })
      const { id } = await grab(named, table, { wake: () => {} })
      const waiter = asking(table, { wake: () => {} })
      expect(await named.acquire(waiter)).toMatchObject({ granted: false, place: 0 })
      expect(await named.release({ resource: table, id })).toMatchObject({ ended: { id } })
      expect(await named.acquire(waiter)).toMatchObject({ granted: true })
      expect(await named.sweep({ limit: 5 })).toEqual([])
    },
  )
})

/** A token of a clock that was ahead. */
const AHEAD = 3_000_000_000_000_000

/** The tables of version 1 with one lease that is held and one that was, and one of its procedures. */
async function createVersion1(connection: Connection, within: string): Promise<void> {
  const name = 'varbinary(512) not null'
  const time = 'bigint not null'
  const table = `${within}.holdfast_leases`
  for (const statement of [
    `create table ${table} (resource ${name} primary key, token ${time}, ended_at ${time}, last_place ${time}, key (ended_at))`,
    `create table ${table}_holders (
      resource ${name}, token ${time}, id ${name}, owner mediumblob not null, metadata mediumblob, share bigint,
      acquired_at ${time}, expires_at ${time}, span ${time}, at_least ${time}, lock_delay ${time}, kept_until bigint,
      channel varbinary(64) not null, primary key (resource, token), key (resource, id), key (expires_at))`,
    `create table ${table}_meta (
      one tinyint primary key, version int not null, oldest int not null, floor ${time}, watch_until ${time})`,
    `insert into ${table}_meta values (1, 1, 1, 0, 0)`,
    `insert into ${table} values ('held', 5, 0, 0), ('ahead', ${AHEAD}, 0, 0)`,
    `insert into ${table}_holders values ('held', 5, 'old', 'Mika', null, null, 1, unix_timestamp() * 1000000 + 60000000,
      60000000, 0, 0, null, 'channel')`,
    `create procedure ${table}_v1_acquire() begin end`,
  ])
    await connection.query(statement)
}

describe('settings of the application', () => {
  it('time zones of sessions do not matter, and stay as they are', async () => {
    const sessions = await Promise.all(
      ['+13:00', '-11:30'].map(async (zone) => {
        const connection = await createConnection(url)
        ends.push(() => connection.end())
        await connection.query(`set time_zone = '${zone}'`)
        return { zone, connection, store: store(connection) }
      }),
    )
    const [east, west] = sessions.map((session) => session.store) as [LeaseStore, LeaseStore]
    const { id, acquiredAt } = await grab(east, 'r', { ttl: 60_000 })
    expect(await west.acquire(asking('r'))).toMatchObject({ granted: false, holders: [{ id, acquiredAt }] })
    const remaining = (await west.read(['r']))[0]?.[0]?.remaining
    expect(remaining).toBeGreaterThan(0)
    expect(remaining).toBeLessThanOrEqual(60_000)
    for (const { zone, connection } of sessions) {
      const [rows] = await connection.query('select @@session.time_zone as zone')
      expect(rows).toEqual([{ zone }])
    }
  })

  it('modes and character sets do not matter', async () => {
    const strange = pool({
      charset: 'latin1',
      rowsAsArray: true,
      bigNumberStrings: true,
      supportBigNumbers: true,
    })
    strange.on('connection', (connection) => {
      connection.query("set sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', autocommit = 0")
    })
    const name = `🔒 'quote' \\ 界`
    const metadata = { note: name }
    const { id, token } = await grab(store(strange), name, { owner: name, metadata })
    expect(await store().read([name])).toMatchObject([[{ resource: name, id, owner: name, metadata, token }]])
  })

  it('a pool whose connections do not commit by themselves loses nothing, and reads no past', async () => {
    await migrateMysql(admin, { database })
    const manual = pool({ connectionLimit: 1 })
    manual.on('connection', (connection) => {
      connection.query('set autocommit = 0')
    })
    const leases = store(manual)
    expect(await leases.read(['r'])).toEqual([[]])
    const { token } = await grab(store(), 'r')
    expect(await leases.read(['r'])).toMatchObject([[{ token }]])
    expect(await leases.acquire(asking('r', { wake: () => {} }))).toMatchObject({ granted: false, place: 0 })
  })

  it('an open transaction is neither committed nor ended, and the error says what to do', async () => {
    const leases = store(admin)
    await leases.read([])
    await admin.query(`create table ${database}.mine (n int)`)
    await admin.beginTransaction()
    await admin.query(`insert into ${database}.mine values (1)`)
    await expect(leases.acquire(asking('r'))).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('within a transaction: pass a Pool'),
    })
    await admin.rollback()
    const [rows] = await admin.query(`select n from ${database}.mine`)
    expect(rows).toEqual([])
  })
})

it('a release tells the waiters of its own process at once, without a message', async () => {
  const leases = store(pool(), { poll: 60_000 })
  const { id } = await grab(leases, 'r')
  const woken = Promise.withResolvers<number>()
  const first = asking('r', { wake: woken.resolve })
  expect(await leases.acquire(first)).toMatchObject({ granted: false, place: 0 })
  await leases.release({ resource: 'r', id })
  expect(await woken.promise).toBe(0)
  expect(await leases.acquire(first)).toMatchObject({ granted: true })
  const [messages] = await admin.query(`select kind from ${database}.holdfast_leases_messages`)
  expect(messages).toEqual([])
})

it('a release whose answer is lost has the waiters of its own process ask again', async () => {
  const client = pool({ connectionLimit: 1 })
  const leases = store(client, { poll: 60_000 })
  const { id } = await grab(leases, 'r')
  const woken = Promise.withResolvers<number>()
  const first = asking('r', { wake: woken.resolve })
  await leases.acquire(first)
  const getConnection = client.getConnection.bind(client)
  client.getConnection = async () => {
    client.getConnection = getConnection
    const connection = await getConnection()
    const query = connection.query.bind(connection)
    connection.query = (async (options: never) => {
      await query(options)
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    }) as typeof query
    return connection
  }
  await expect(leases.release({ resource: 'r', id })).rejects.toMatchObject({ code: 'store-unavailable' })
  await woken.promise
  expect(await leases.acquire(first)).toMatchObject({ granted: true })
})

describe('a busy server', () => {
  it('a busy server has a request sent again that it rolled back because of a deadlock', async () => {
    const client = pool({ connectionLimit: 1 })
    const leases = store(client)
    await leases.read([])
    const getConnection = client.getConnection.bind(client)
    let deadlocks = 3
    client.getConnection = async () => {
      const connection = await getConnection()
      const query = connection.query.bind(connection)
      connection.query = (async (options: never) => {
        connection.query = query
        if (deadlocks-- > 0) throw Object.assign(new Error('Deadlock found'), { errno: 1213 })
        return query(options)
      }) as typeof query
      return connection
    }
    expect(await leases.acquire(asking('r'))).toMatchObject({ granted: true })
    deadlocks = 100
    await expect(leases.acquire(asking('r'))).rejects.toMatchObject({ code: 'store-unavailable' })
  })

  it('a busy server that killed a connection is asked on another one', async () => {
    const client = pool({ connectionLimit: 1 })
    const leases = store(client)
    const { token } = await grab(leases, 'r')
    const [rows] = await client.query('select connection_id() as id')
    for (const { id } of rows as { id: number }[]) await admin.query(`kill ${id}`)
    await expect.poll(() => leases.read(['r']).catch(() => [])).toMatchObject([[{ token }]])
  })
})

describe('the tables', () => {
  const count = async (name: string) => {
    const [rows] = await admin.query(`select count(*) as n from ${database}.holdfast_leases${name}`)
    return (rows as { n: number }[])[0]?.n
  }

  it('the tables forget a resource an hour after its end, but never its token', async () => {
    const leases = store()
    const { id, token } = await grab(leases, 'r')
    await leases.release({ resource: 'r', id })
    await leases.sweep({ limit: 1 })
    expect(await count('')).toBe(1)
    const [old, ahead] = [token - 4 * 3_600_000_000, token + 10 * 3_600_000_000]
    await admin.query(
      `update ${database}.holdfast_leases set token = ${ahead}, ended_at = ${old}, due_at = 0`,
    )
    await leases.sweep({ limit: 1 })
    expect(await count('')).toBe(1)
    await admin.query(`update ${database}.holdfast_leases set token = ${old}, due_at = 0`)
    await leases.sweep({ limit: 1 })
    expect(await count('')).toBe(0)
    await admin.query(`update ${database}.holdfast_leases_meta set floor = ${ahead}`)
    expect((await grab(leases, 'r')).token).toBe(ahead + 1)
  })

  it('the tables forget the places of a process that is gone, all at once', async () => {
    const leases = store()
    const { id } = await grab(leases, 'r')
    for (let n = 0; n < 3; n++) await leases.acquire(asking('r', { wake: () => {} }))
    await leases.close()
    await admin.query(`update ${database}.holdfast_leases_channels set alive_until = 0`)
    const other = store()
    const next = asking('r', { wake: () => {} })
    expect(await other.acquire(next)).toMatchObject({ granted: false, place: 3 })
    await other.release({ resource: 'r', id })
    expect(await other.acquire(next)).toMatchObject({ granted: true })
    expect(await count('_waiters')).toBe(0)
  })
})
