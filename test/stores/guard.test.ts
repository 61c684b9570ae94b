import { Etcd3 } from 'etcd3'
import { Redis } from 'ioredis'
import type { Pool as CallbackPool } from 'mysql2'
import { createConnection, createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import pg from 'pg'
import postgres from 'postgres'
import { createClientPool } from 'redis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { LeaseError } from '../../src/base/errors.ts'
import { createLeases } from '../../src/core/index.ts'
import {
  etcdGuard,
  type Fence,
  guardTable,
  type MysqlClient,
  mysqlGuard,
  mysqlGuardTable,
  type PostgresQueryClient,
  postgresGuard,
  REDIS_FENCE,
  redisGuard,
} from '../../src/guard/index.ts'
import {
  type GuardedDocument,
  onEtcd,
  onIoredis,
  onMysql,
  onNodeRedis,
  onPg,
  onPgRow,
  onPgWrite,
  onPostgresJs,
  onPostgresJsWrite,
  onSqliteRow,
  onSqliteTransaction,
} from './guard/guarded-documents.ts'
import { losingProxy } from './guard/losing-proxy.ts'
import { freshPrefix } from './redis/clients.ts'

const {
  HOLDFAST_TEST_REDIS_URL: redisUrl = '',
  HOLDFAST_TEST_POSTGRES_URL: postgresUrl = '',
  HOLDFAST_TEST_MYSQL_URL: mysqlUrl = '',
  HOLDFAST_TEST_ETCD_URL: etcdUrl = '',
} = process.env

const kinds: Record<string, () => Promise<GuardedDocument>> = {
  'Redis with ioredis': () => onIoredis(redisUrl),
  'Redis with node-redis': () => onNodeRedis(redisUrl),
  'Postgres with pg': () => onPg(postgresUrl),
  'Postgres with postgres.js': () => onPostgresJs(postgresUrl),
  'Postgres with write() of pg': () => onPgWrite(postgresUrl),
  'Postgres with write() of postgres.js': () => onPostgresJsWrite(postgresUrl),
  'a row of Postgres': () => onPgRow(postgresUrl),
  MySQL: () => onMysql(mysqlUrl),
  etcd: () => onEtcd(etcdUrl),
  SQLite: onSqliteTransaction,
  'a row of SQLite': onSqliteRow,
}

/** Beyond the 14 digits to which Lua rounds what it writes. */
const TOKEN = 1_794_719_438_119_000

function fence(token: number, id = `lease ${token}`): Fence {
  return { resource: 'document:42', token, id }
}

const STALE = { code: 'stale-token', retryable: false, resource: 'document:42' }

describe.each(Object.entries(kinds))('a guard in %s', (_, open) => {
  it('accepts the same lease again and newer leases, and refuses a lower token', async () => {
    await using document = await open()
    await document.save(fence(TOKEN + 1), 'one')
    await document.save(fence(TOKEN + 1), 'two')
    await document.save(fence(TOKEN + 2), 'three')
    for (const token of [TOKEN + 1, TOKEN, 1]) {
      const error = await document.save(fence(token), 'stale').catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(LeaseError)
      expect(error).toMatchObject(STALE)
    }
    expect(await document.read()).toBe('three')
  })

  it('refuses the same token of another lease', async () => {
    await using document = await open()
    await document.save(fence(TOKEN, 'one'), 'of the one')
    await expect(document.save(fence(TOKEN, 'another'), 'of another')).rejects.toMatchObject(STALE)
    await document.save(fence(TOKEN, 'one'), 'of the one again')
    expect(await document.read()).toBe('of the one again')
  })

  it('refuses the old holder as soon as the new one is announced', async () => {
    await using document = await open()
    await document.save(fence(TOKEN), 'old')
    await document.announce(fence(TOKEN + 1))
    await expect(document.save(fence(TOKEN), 'too late')).rejects.toMatchObject(STALE)
    await expect(document.announce(fence(TOKEN))).rejects.toMatchObject(STALE)
    expect(await document.read()).toBe('old')
  })

  it('keeps the text of the newest lease if many write at once', async () => {
    await using document = await open()
    const tokens = Array.from({ length: 24 }, (_, n) => TOKEN + ((n * 7) % 24))
    const outcomes = await Promise.allSettled(
      tokens.map((token) => document.save(fence(token), String(token))),
    )
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(STALE)
    expect(await document.read()).toBe(String(TOKEN + 23))
    expect(outcomes[tokens.indexOf(TOKEN + 23)]?.status).toBe('fulfilled')
  })

  it('refuses a holder that was paused past its lease, and accepts its successor', async () => {
    await using document = await open()
    await using one = createLeases(document.store)
    await using other = createLeases(document.store)
    // A paused process sends no heartbeats.
    const paused = await one.acquire('document:42', { ttl: 1000, heartbeat: false })
    await document.save(paused, 'before the pause')
    const successor = await other.acquire('document:42')
    await document.save(successor, 'by the successor')
    await expect(document.save(paused, 'after the pause')).rejects.toMatchObject(STALE)
    expect(await document.read()).toBe('by the successor')
    expect(paused.held).toBe(false)
  })
})

describe('a guard in etcd', () => {
  const client = new Etcd3({ hosts: etcdUrl.replace('etcd:', 'http:') })
  afterAll(() => client.close())

  it('a guard in etcd writes nothing if the fence key has a foreign value, or if the value is too large', async () => {
    const key = freshPrefix()
    const guard = etcdGuard(client, key)
    await expect(guard.set(fence(TOKEN), 'x'.repeat(2_000_000))).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('expected a value of at most 1500000 bytes'),
    })
    for (const foreign of ['foreign', '{}', '{"token":"1","id":"a"}', 'null']) {
      await client.put(guard.fenceKey).value(foreign)
      await expect(guard.set(fence(TOKEN), 'text')).rejects.toMatchObject({ code: 'store-failed' })
      expect(await client.get(guard.fenceKey).string()).toBe(foreign)
    }
    expect(await client.get(key).string()).toBeNull()
    await expect(guard.set(fence(TOKEN), 1n as never)).rejects.toThrow('value: expected a string, got 1n')
    expect(() => etcdGuard(client, '')).toThrow('key: expected a non-empty string')
    expect(() => etcdGuard('etcd://localhost' as never, key)).toThrow('client: expected an Etcd3')
  })

  it('a guard in etcd announces a lease by the former name check too, and warns once', async () => {
    const warnings = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const guard = etcdGuard(client, freshPrefix())
    for (const token of [TOKEN, TOKEN + 1]) await guard.check(fence(token))
    await expect(guard.set(fence(TOKEN), 'late')).rejects.toMatchObject(STALE)
    const message =
      'etcdGuard: check() is now announce(), because it protects no later write: write with set()'
    expect(warnings.mock.calls).toEqual([[message, 'HoldfastWarning']])
    warnings.mockRestore()
  })
})

describe('a guard in Redis', () => {
  let client: Redis
  beforeAll(() => {
    client = new Redis(redisUrl)
  })
  afterAll(() => client.disconnect())

  it('a guard in Redis keeps a value for the given time, and its fence forever', async () => {
    const key = freshPrefix()
    const guard = redisGuard(client, key)
    await guard.set(fence(TOKEN), 'kept', { px: '1m' })
    expect(await client.pttl(key)).toBeGreaterThan(30_000)
    expect(await client.pttl(guard.fenceKey)).toBe(-1)
    await guard.set(fence(TOKEN), 'kept forever')
    expect(await client.pttl(key)).toBe(-1)
    expect(await client.hgetall(guard.fenceKey)).toEqual({ token: String(TOKEN), id: `lease ${TOKEN}` })
  })

  it('a guard in Redis works within a script of the user', async () => {
    const key = freshPrefix()
    const { fenceKey } = redisGuard(client, key)
    const script = `${REDIS_FENCE}
      if holdfast_fence(KEYS[1], ARGV[1], ARGV[2]) then return redis.error_reply('STALE') end
      return redis.call('RPUSH', KEYS[2], ARGV[3])`
    const push = (token: number, text: string) =>
      client.eval(script, 2, fenceKey, key, String(token), `lease ${token}`, text)
    await push(TOKEN + 1, 'a')
    await push(TOKEN + 1, 'b')
    await expect(push(TOKEN, 'c')).rejects.toThrow('STALE')
    expect(await client.lrange(key, 0, -1)).toEqual(['a', 'b'])
  })

  it('a guard in Redis writes nothing if the fence key has a foreign value', async () => {
    const key = freshPrefix()
    const guard = redisGuard(client, key)
    await client.set(guard.fenceKey, 'foreign')
    await expect(guard.set(fence(TOKEN), 'text')).rejects.toThrow('WRONGTYPE')
    expect(await client.get(key)).toBeNull()
  })

  it('works with a pool of node-redis, which cannot subscribe', async () => {
    const pool = createClientPool({ url: redisUrl })
    await pool.connect()
    const guard = redisGuard(pool, freshPrefix())
    await guard.set(fence(TOKEN + 1), 'text')
    await expect(guard.set(fence(TOKEN), 'text')).rejects.toMatchObject(STALE)
    pool.destroy()
  })
})

describe('a guard in Postgres', () => {
  const table = `guard_${freshPrefix().replaceAll('-', '_')}`
  let pool: pg.Pool
  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: postgresUrl })
    await pool.query(guardTable({ table }))
    await pool.query(guardTable({ table }))
  })
  afterAll(async () => {
    await pool.query(`DROP TABLE ${table}`)
    await pool.end()
  })

  it('a guard in Postgres makes other checks wait for the end of the transaction, and takes a rollback back', async () => {
    const [one, other] = [await pool.connect(), await pool.connect()]
    await one.query('BEGIN')
    await postgresGuard(one, { table }).check(fence(TOKEN + 1))
    await other.query('BEGIN')
    const { rows } = await other.query('SELECT pg_backend_pid() AS pid')
    const waiting = postgresGuard(other, { table }).check(fence(TOKEN))
    const first = await Promise.race([waiting.then(() => 'checked'), waitingForLock(pool, rows[0].pid)])
    expect(first).toBe('waiting')
    await one.query('ROLLBACK')
    await waiting
    await other.query('COMMIT')
    for (const client of [one, other]) client.release()
    await expect(postgresGuard(pool, { table }).write(fence(TOKEN - 1), () => {})).rejects.toThrow(
      `the guard has seen a newer lease, with token ${TOKEN}`,
    )
  })

  it('a guard in Postgres passes the errors of the client on unchanged', async () => {
    const guard = postgresGuard(pool, { table: 'no_such_table' })
    await expect(guard.write(fence(1), () => {})).rejects.toMatchObject({ code: '42P01' })
  })

  it('a guard in Postgres refuses a pool and a connection without a transaction, which would protect no write', async () => {
    const client = await pool.connect()
    const sql = postgres(postgresUrl, { onnotice: () => {} })
    const reserved = await sql.reserve()
    // A version of pg that does not know the status of its transaction.
    const older = { query: (text: string, values: unknown[]) => client.query(text, values) }
    for (const outside of [pool, client, older, sql, reserved] as PostgresQueryClient[])
      await expect(postgresGuard(outside, { table }).check(fence(TOKEN + 5))).rejects.toMatchObject({
        code: 'invalid-argument',
        message: expect.stringMatching(
          /^client: expected a connection with an open transaction, .+guard\.write/,
        ),
      })
    for (const inside of [client, older]) {
      await client.query('BEGIN')
      await postgresGuard(inside, { table }).check(fence(TOKEN + 5))
      await client.query('ROLLBACK')
    }
    await reserved`BEGIN`
    await postgresGuard(reserved, { table }).check(fence(TOKEN + 5))
    await reserved`ROLLBACK`
    // The `sql` of a transaction works after its end, too, and so does that of a savepoint.
    const ended: PostgresQueryClient[] = []
    const other = { ...fence(1), resource: 'a transaction that has ended' }
    await sql.begin(async (transaction) => {
      await transaction.savepoint(async (savepoint) => {
        ended.push(transaction, savepoint)
        await postgresGuard(savepoint, { table }).check(other)
      })
      await postgresGuard(transaction, { table }).check(other)
    })
    for (const client of ended)
      await expect(postgresGuard(client, { table }).check(other)).rejects.toThrow('open transaction')
    // Sent, and not yet answered: the server decides.
    const begin = client.query('BEGIN')
    await postgresGuard(client, { table }).check(fence(TOKEN + 5))
    const end = client.query('ROLLBACK')
    await expect(postgresGuard(client, { table }).check(fence(TOKEN + 5))).rejects.toThrow('open transaction')
    await Promise.all([begin, end])
    client.release()
    reserved.release()
    await sql.end()
  })

  describe.each(['pg', 'postgres.js'])('write() of %s', (driver) => {
    const resource = `written with ${driver}`
    const lease = { ...fence(TOKEN), resource }
    let sql: postgres.Sql
    const write = (work: (run: (text: string) => Promise<unknown>) => unknown, on = lease) =>
      driver === 'pg'
        ? postgresGuard(pool, { table }).write(on, (client) => work((text) => client.query(text)))
        : postgresGuard(sql, { table }).write(on, (transaction) => work((text) => transaction.unsafe(text)))
    const stored = async () => (await pool.query(`SELECT n FROM ${table}_n WHERE r = $1`, [resource])).rows
    const insert = `INSERT INTO ${table}_n VALUES (1, '${resource}')`

    beforeAll(async () => {
      sql = postgres(postgresUrl, { onnotice: () => {} })
      await pool.query(`CREATE TABLE IF NOT EXISTS ${table}_n
        (n int, r text, UNIQUE (n, r) DEFERRABLE INITIALLY DEFERRED)`)
    })
    afterAll(async () => {
      await sql.end()
      await pool.query(`DROP TABLE IF EXISTS ${table}_n`)
    })

    it('commits what the work wrote, and resolves with its result', async () => {
      expect(await write(async (run) => [await run(insert), 'result'][1])).toBe('result')
      expect(await stored()).toEqual([{ n: 1 }])
      await pool.query(`DELETE FROM ${table}_n`)
    })

    it('rolls back and rejects with the reason of the work', async () => {
      const reason = new Error('changed my mind')
      const failing = write(async (run) => {
        await run(insert)
        throw reason
      })
      await expect(failing).rejects.toBe(reason)
      expect(await stored()).toEqual([])
    })

    it('runs no work for a stale token', async () => {
      await write(() => {}, { ...lease, token: TOKEN + 1, id: 'newer' })
      const work = vi.fn()
      await expect(write(work)).rejects.toMatchObject({ code: 'stale-token' })
      expect(work).not.toHaveBeenCalled()
    })

    it('rejects if COMMIT is refused, or if it rolls back because of a statement that failed before', async () => {
      const newest = { ...lease, token: TOKEN + 2, id: 'newest' }
      const twice = write(async (run) => [await run(insert), await run(insert)], newest)
      await expect(twice).rejects.toMatchObject({ code: '23505' })
      const swallowed = write((run) => run('SELECT 1 / 0').catch(() => {}), newest)
      await expect(swallowed).rejects.toMatchObject(
        driver === 'pg' ? { code: 'store-failed' } : { code: '22012' },
      )
      expect(await stored()).toEqual([])
    })

    it('reports a lost answer of COMMIT as unknown, and a connection lost before it as an error', async () => {
      await using proxy = await losingProxy(postgresUrl)
      const cutPool = new pg.Pool({ connectionString: proxy.url })
      const cutSql = postgres(proxy.url, { onnotice: () => {}, max: 1, prepare: false })
      const newest = { ...lease, token: TOKEN + 3, id: 'newest of all' }
      const cut = (work: (run: (text: string) => Promise<unknown>) => unknown) =>
        driver === 'pg'
          ? postgresGuard(cutPool, { table }).write(newest, (client) => work((text) => client.query(text)))
          : postgresGuard(cutSql, { table }).write(newest, (sql) => work((text) => sql.unsafe(text)))
      // postgres.js sends its ROLLBACK into the broken connection, and ends the process.
      if (driver === 'pg') {
        const early = await cut(async (run) => {
          proxy.loseNextAnswer()
          await run(insert)
        }).catch((error: unknown) => error)
        expect(early).toBeInstanceOf(Error)
        expect(early).not.toMatchObject({ code: 'outcome-unknown' })
      }
      const late = cut(async (run) => {
        await run(insert)
        proxy.loseNextAnswer()
      })
      await expect(late).rejects.toMatchObject({ code: 'outcome-unknown', retryable: false })
      expect(await stored()).toEqual([{ n: 1 }])
      await cutPool.end()
      await cutSql.end({ timeout: 0 })
    })
  })

  it('a guard in Postgres opens a transaction only on a pool', async () => {
    const client = await pool.connect()
    await expect(postgresGuard(client, { table }).write(fence(TOKEN), () => {})).rejects.toThrow(
      'client: expected a Pool of pg or the sql of postgres, to open a transaction, got a Client',
    )
    await expect(postgresGuard(pool, { table }).write(fence(TOKEN), 'work' as never)).rejects.toThrow(
      'work: expected a function, got "work"',
    )
    client.release()
  })
})

/** Resolves when this connection waits for a lock. */
async function waitingForLock(pool: pg.Pool, pid: number): Promise<string> {
  const query = "SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'"
  while ((await pool.query(query, [pid])).rows.length === 0);
  return 'waiting'
}

describe('a guard in MySQL', () => {
  const table = `guard_${freshPrefix().replaceAll('-', '_')}`
  const guardOf = <Client extends MysqlClient>(client: Client) => mysqlGuard(client, { table })
  const announce = (lease: Fence) => guardOf(pool).write(lease, () => {})
  let pool: Pool
  beforeAll(async () => {
    pool = createPool({ uri: mysqlUrl })
    await pool.query(mysqlGuardTable({ table }))
    await pool.query(mysqlGuardTable({ table }))
  })
  afterAll(async () => {
    await pool.query(`DROP TABLE ${table}`)
    await pool.end()
  })

  it('a guard in MySQL makes other checks wait for the end of the transaction, and takes a rollback back', async () => {
    const [one, other] = [await pool.getConnection(), await pool.getConnection()]
    await one.beginTransaction()
    await guardOf(one).check(fence(TOKEN + 1))
    await other.beginTransaction()
    const waiting = guardOf(other).check(fence(TOKEN))
    const first = await Promise.race([waiting.then(() => 'checked'), waitingForRow(pool, other.threadId)])
    expect(first).toBe('waiting')
    await one.rollback()
    await waiting
    await other.commit()
    for (const connection of [one, other]) connection.release()
    await expect(announce(fence(TOKEN - 1))).rejects.toThrow(
      `the guard has seen a newer lease, with token ${TOKEN}`,
    )
  })

  it.each(['REPEATABLE READ', 'READ COMMITTED'])(
    'sees a newer lease than its transaction has read before, at %s',
    async (level) => {
      const resource = `document in ${level}`
      await announce({ ...fence(TOKEN), resource })
      const old = await pool.getConnection()
      await old.query(`SET TRANSACTION ISOLATION LEVEL ${level}`)
      await old.beginTransaction()
      await old.query(`SELECT * FROM ${table}`)
      await announce({ ...fence(TOKEN + 2), resource })
      const refusal = await guardOf(old)
        .check({ ...fence(TOKEN + 1), resource })
        .catch(String)
      await old.rollback()
      old.release()
      expect(refusal).toContain(`the guard has seen a newer lease, with token ${TOKEN + 2}`)
    },
  )

  it('a guard in MySQL keeps names apart that a collation or a short column would take for one', async () => {
    const names = ['A', 'a', 'a ', 'ä', "'", 'x'.repeat(3071), 'x'.repeat(3072)]
    for (const [n, resource] of names.entries()) await announce({ resource, token: TOKEN - n, id: 'Ä\0🎈' })
    for (const [n, resource] of names.entries()) await announce({ resource, token: TOKEN - n, id: 'Ä\0🎈' })
    await expect(announce({ ...fence(TOKEN), resource: 'ä'.repeat(1537) })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringMatching(/^lease\.resource: expected at most 3072 bytes of UTF-8, got /),
    })
  })

  it('a guard in MySQL works whatever the options of the client are, and with callbacks', async () => {
    const options = { rowsAsArray: true, supportBigNumbers: true, bigNumberStrings: true }
    const connection = await createConnection({ uri: mysqlUrl, ...options })
    const { connection: withCallbacks } = connection as unknown as { readonly connection: MysqlClient }
    await connection.beginTransaction()
    for (const client of [connection, withCallbacks]) {
      await guardOf(client).check({ ...fence(TOKEN + 1), resource: 'options' })
      await expect(guardOf(client).check({ ...fence(TOKEN), resource: 'options' })).rejects.toMatchObject({
        code: 'stale-token',
      })
    }
    await connection.end()
  })

  it('a guard in MySQL refuses a pool and a connection without a transaction, which would protect no write', async () => {
    const connection = await pool.getConnection()
    const { pool: withCallbacks } = pool as unknown as { readonly pool: MysqlClient }
    for (const outside of [pool, withCallbacks, connection])
      await expect(guardOf(outside).check(fence(TOKEN + 5))).rejects.toMatchObject({
        code: 'invalid-argument',
        message: expect.stringMatching(
          /^client: expected a connection with an open transaction, .+guard\.write/,
        ),
      })
    await expect(guardOf(connection).write(fence(TOKEN + 5), () => {})).rejects.toThrow(
      'client: expected a Pool of mysql2, to open a transaction, got a',
    )
    // Without autocommit, every statement is within a transaction.
    await connection.query('SET autocommit = 0')
    await guardOf(connection).check(fence(TOKEN + 5))
    await connection.rollback()
    connection.destroy()
  })

  it('a guard in MySQL commits what the work of write() wrote, rolls back if it rejects, and reports a lost answer as unknown', async () => {
    await using proxy = await losingProxy(mysqlUrl)
    await pool.query(`CREATE TABLE ${table}_n (n int)`)
    const stored = async () =>
      (await pool.query<RowDataPacket[]>(`SELECT n FROM ${table}_n`))[0].map(({ n }) => n)
    const lease = { ...fence(TOKEN), resource: 'written' }
    const { pool: withCallbacks } = pool as unknown as { readonly pool: CallbackPool }
    await guardOf(pool).write(lease, (connection) => connection.query(`INSERT INTO ${table}_n VALUES (1)`))
    const result = await guardOf(pool).write(withCallbacks, lease, async (connection) => {
      await connection.query(`INSERT INTO ${table}_n VALUES (2)`)
      return 'result'
    })
    expect(result).toBe('result')
    const reason = new Error('changed my mind')
    const failing = guardOf(pool).write(pool, lease, async (connection) => {
      await connection.query(`INSERT INTO ${table}_n VALUES (3)`)
      throw reason
    })
    await expect(failing).rejects.toBe(reason)
    expect(await stored()).toEqual([1, 2])

    const cut = createPool({ uri: proxy.url })
    const early = await mysqlGuard(cut, { table })
      .write(lease, async (connection) => {
        proxy.loseNextAnswer()
        await connection.query(`INSERT INTO ${table}_n VALUES (4)`)
      })
      .catch((error: unknown) => error)
    expect(early).toBeInstanceOf(Error)
    expect(early).not.toMatchObject({ code: 'outcome-unknown' })
    const late = mysqlGuard(cut, { table }).write(lease, async (connection) => {
      await connection.query(`INSERT INTO ${table}_n VALUES (5)`)
      proxy.loseNextAnswer()
    })
    await expect(late).rejects.toMatchObject({ code: 'outcome-unknown', retryable: false })
    expect(await stored()).toEqual([1, 2, 5])
    await cut.end()
    await pool.query(`DROP TABLE ${table}_n`)
  })

  it('a guard in MySQL passes the errors of the client on unchanged', async () => {
    const guard = mysqlGuard(pool, { table: 'no_such_table' })
    await expect(guard.write(fence(1), () => {})).rejects.toMatchObject({ code: 'ER_NO_SUCH_TABLE' })
    expect(() => mysqlGuard('mysql://localhost' as never)).toThrow('client: expected a Pool or a connection')
  })
})

/** Resolves when this connection waits for a lock. */
async function waitingForRow(pool: Pool, thread: number): Promise<string> {
  const query = `SELECT 1 FROM information_schema.innodb_trx
    WHERE trx_mysql_thread_id = ? AND trx_state = 'LOCK WAIT'`
  while ((await pool.query<RowDataPacket[]>(query, [thread]))[0].length === 0);
  return 'waiting'
}
