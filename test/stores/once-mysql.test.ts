import { type Connection, createConnection, createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOnce, type JobGrant, type MysqlClient, mysqlJobs } from '../../src/once/index.ts'
import type { Transactions } from '../once/describe-completion.ts'
import { describeJobStore } from '../once/describe-job-store.ts'
import { expectOneHolder } from '../once/one-holder.ts'
import { expectServerClock } from '../once/server-clock.ts'

const { HOLDFAST_TEST_MYSQL_URL: url = '' } = process.env
const COLUMN = { status: 'status', lockOwner: 'lock_owner', lockExpiresAt: 'lock_expires_at' }
const database = `once_${process.pid}`

let pool: Pool
/** Its time zone, and its way to read values, are its own. */
let connection: Connection
beforeAll(async () => {
  pool = createPool({ uri: url, connectionLimit: 20 })
  await pool.query(`create database ${database}`)
  connection = await createConnection({ uri: url, timezone: '+09:00', rowsAsArray: true })
  await connection.query(`set session time_zone = '-11:00'`)
})
afterAll(async () => {
  await pool.query(`drop database ${database}`)
  await Promise.all([pool.end(), connection.end()])
})

describeJobStore('mysql', {
  ttl: 300,
  completes: true,
  create: async () => {
    const table = freshTable()
    return {
      jobs: mysqlJobs(pool, { table, database }),
      peer: mysqlJobs(connection, { table, database }),
      transactions: {
        async run(work) {
          const own = await pool.getConnection()
          try {
            await own.beginTransaction()
            await work(own)
            await own.commit()
          } catch (error) {
            await own.rollback()
            throw error
          } finally {
            own.release()
          }
        },
        outside: [pool, connection],
      } satisfies Transactions,
      set: async (id: string, field: keyof typeof COLUMN, value: string) => {
        await pool.query(`update ${at(table)} set ${COLUMN[field]} = ? where id = ?`, [value, id])
      },
      dispose: async () => {
        await pool.query(`drop table if exists ${at(table)}`)
      },
    }
  },
})

describe('a job in a table of MySQL', () => {
  it.each(['utf8mb4', 'latin1'])(
    'can be in a table of the application, in %s, whose other columns stay as they are',
    async (charset) => {
      const table = freshTable()
      await pool.query(`create table ${at(table)} (id char(36) primary key, title text, state varchar(20), result json,
      error text, attempts int, lock_owner text, lock_expires_at varchar(64), lock_heartbeat_at varchar(64),
      lock_token bigint) character set ${charset}`)
      const id = crypto.randomUUID()
      await pool.query(`insert into ${at(table)} (id, title, state) values (?, 'mine', 'new')`, [id])
      const options = { table, database, columns: { status: 'state' }, statuses: { ready: 'fertig ü' } }
      const jobs = mysqlJobs(pool, options)
      expect(await createOnce(jobs).run(id, () => ({ score: [1, 'ß'] }))).toMatchObject({ ran: true })
      const [rows] = await pool.query(`select title, state from ${at(table)}`)
      expect(rows).toEqual([{ title: 'mine', state: 'fertig ü' }])
      expect(await jobs.read(id)).toMatchObject({ finished: true, result: { score: [1, 'ß'] } })
      // The table has no columns for results that are kept. Both add them, at the same time.
      const other = mysqlJobs(pool, options)
      const kept = crypto.randomUUID()
      const results = await Promise.all(
        [jobs, other].map((each) => createOnce(each).result(kept, () => 'ß', { payload: 'ü' })),
      )
      expect(results.map(({ result }) => result)).toEqual(['ß', 'ß'])
      expect(results.filter(({ ran }) => ran)).toHaveLength(1)
    },
  )

  it('a job in a table of MySQL is locked by the clock of the server, not of the worker', () =>
    expectServerClock(mysqlJobs(pool, { table: freshTable(), database })))

  it('a job in a table of MySQL is not changed if somebody changed it after it was read', async () => {
    const table = freshTable()
    const jobs = mysqlJobs(pool, { table, database })
    await jobs.add('job')
    // The other worker is granted the job between the read and the write of this one.
    let isFirst = true
    const late = mysqlJobs(
      before(connection, async (sql) => {
        if (!isFirst || !sql.startsWith('update')) return
        isFirst = false
        expect(await jobs.acquire('job', 'a', 60_000)).toMatchObject({ granted: true })
      }),
      { table, database },
    )
    expect(await late.acquire('job', 'b', 60_000)).toMatchObject({ granted: false, reason: 'locked' })
    expect(await jobs.refresh('job', 'a', 60_000)).not.toBeNull()
    expect(await jobs.read('job')).toMatchObject({ attempts: 1 })
  })

  it('a job in a table of MySQL has one holder at a time if many owners acquire and release it', async () => {
    const jobs = mysqlJobs(pool, { table: freshTable(), database })
    await expectOneHolder(jobs, 10)
  })

  it('a job in a table of MySQL is in a table that many processes may create at the same time', async () => {
    const table = freshTable()
    await Promise.all(Array.from({ length: 10 }, () => mysqlJobs(pool, { table, database }).add('job')))
    const [rows] = await pool.query<RowDataPacket[]>(`select count(*) as count from ${at(table)}`)
    expect(rows).toEqual([{ count: 1 }])
  })

  it('a job in a table of MySQL may have every id and result that a job can have', async () => {
    const jobs = mysqlJobs(pool, { table: freshTable(), database })
    // The shortest form of this id has 512 bytes, and this one 768.
    const ids = ['e\u0301'.repeat(256), '\u00e9'.repeat(256), 'a', 'a ', `\\'"`, '😀']
    const results = [1.5e300, 0.1, 'text', false, [], `\\'"😀\0`]
    for (const [n, id] of ids.entries()) {
      await jobs.add(id)
      const { token } = (await jobs.acquire(id, `owner ${n}`, 60_000)) as JobGrant
      await jobs.finish(id, { owner: `owner ${n}`, token }, { result: results[n] ?? null })
    }
    const read = await Promise.all(ids.map((id) => jobs.read(id)))
    expect(read.map((job) => job?.result)).toEqual(results)
  })

  it('a job in a table of MySQL is not locked by a client whose changes are not committed', async () => {
    const table = freshTable()
    await mysqlJobs(pool, { table, database }).add('job')
    const own = await createConnection(url)
    await own.query('set autocommit = 0')
    await expect(mysqlJobs(own, { table, database }).acquire('job', 'a', 1000)).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('autocommit is off'),
    })
    await own.end()
  })

  it('a job in a table of MySQL of an unreachable server is store-unavailable', async () => {
    const nobody = createPool('mysql://127.0.0.1:1/none')
    const refused = { code: 'store-unavailable', retryable: true }
    await expect(mysqlJobs(nobody).acquire('job', 'a', 1000)).rejects.toMatchObject(refused)
    await nobody.end()
    await expect(mysqlJobs(nobody).acquire('job', 'a', 1000)).rejects.toMatchObject({ code: 'store-failed' })
  })

  it('a job in a table of MySQL needs a client of MySQL and valid options', () => {
    for (const none of [null, {}, 10n, url])
      expect(() => mysqlJobs(none as never)).toThrow(
        'client: expected a Pool or a connection of mysql2, got ',
      )
    expect(() => mysqlJobs(pool, null as never)).toThrow('options: expected an object, got null')
    expect(() => mysqlJobs(pool, { table: 1n as never })).toThrow('table: expected a non-empty string')
    expect(() => mysqlJobs(pool, { database: '' })).toThrow('database: expected a non-empty string')
    expect(() => mysqlJobs(pool, { columns: { status: 'id2', result: 'id2' } })).toThrow(
      'columns: expected different names',
    )
  })
})

/** A client that calls `first` before each statement. */
function before(client: Connection, first: (sql: string) => Promise<void>): MysqlClient {
  const query = async (options: { readonly sql: string }) => {
    await first(options.sql)
    return client.query(options as never)
  }
  return { query, execute: () => {} } as unknown as MysqlClient
}

function freshTable(): string {
  return `jobs-${crypto.randomUUID().slice(0, 8)}`
}

function at(table: string): string {
  return `${database}.\`${table}\``
}
