import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createOnce, type PostgresClient, postgresJobs } from '../../src/once/index.ts'
import { eventually } from '../eventually.ts'
import type { Transactions } from '../once/describe-completion.ts'
import { describeJobStore } from '../once/describe-job-store.ts'
import { expectOneHolder } from '../once/one-holder.ts'
import { expectServerClock } from '../once/server-clock.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = 'postgres://localhost' } = process.env
const COLUMN = { status: 'status', lockOwner: 'lock_owner', lockExpiresAt: 'lock_expires_at' }

let pool: pg.Pool
let sql: postgres.Sql
let client: pg.Client
beforeAll(async () => {
  pool = new pg.Pool({ connectionString: url, max: 20 })
  sql = postgres(url, { max: 10, onnotice: () => {} })
  client = new pg.Client(url)
  await client.connect()
})
afterAll(() => Promise.all([pool.end(), sql.end(), client.end()]))

describe.each(['pg', 'pg, prepared', 'postgres'])('with %s', (driver) => {
  const open = (table: string) => {
    const clients: PostgresClient[] = driver === 'postgres' ? [sql, pool] : [pool, client]
    return clients.map((each) => postgresJobs(each, { table, prepare: driver === 'pg, prepared' }))
  }
  describeJobStore('postgres', {
    ttl: 300,
    typedTime: true,
    completes: true,
    create: async () => {
      const table = freshTable()
      const [jobs, peer] = open(table)
      if (!jobs || !peer) throw new Error('two clients expected')
      // It still works, on a connection of the pool.
      const ended = await sql.begin(async (tx) => [tx] as const)
      return {
        jobs,
        peer,
        age: async (id: string, ms: number) => {
          const times = ['lock_expires_at', 'lock_heartbeat_at', 'kept_until']
          const earlier = times.map((time) => `${time} = ${time} - $2::float8 * interval '1 millisecond'`)
          await pool.query(`update "${table}" set ${earlier.join(', ')} where id = $1`, [id, ms])
        },
        transactions: {
          run: (work) =>
            driver === 'postgres' ? sql.begin(async (tx) => void (await work(tx))) : inTransaction(work),
          outside: [pool, sql, client, ...ended, { query: (...args: [string]) => client.query(...args) }],
        } satisfies Transactions,
        set: async (id: string, field: keyof typeof COLUMN, value: string) => {
          await pool.query(`update "${table}" set ${COLUMN[field]} = $2 where id = $1`, [id, value])
        },
        dispose: async () => {
          await pool.query(`drop table "${table}"`)
        },
      }
    },
  })
})

describe('a transaction of Postgres that completes a job', () => {
  it.each(['pg', 'postgres'])(
    'a transaction of %s that completes a job cannot be committed after the lock was lost, even if the answer is ignored',
    async (driver) => {
      const table = freshTable()
      const jobs = postgresJobs(pool, { table })
      await jobs.add('job')
      await pool.query(`create table "${table}_effects" (id text)`)
      await using once = createOnce(jobs)
      const run = once.run('job', async ({ id, complete }) => {
        // Another program ends the lock. This worker does not know that yet.
        await pool.query(`update "${table}" set lock_owner = null`)
        const transaction =
          driver === 'postgres'
            ? sql.begin(async (tx) => {
                await tx`insert into ${tx(`${table}_effects`)} values (${id})`
                await complete(tx, 1).catch(() => {})
              })
            : inTransaction(async (tx) => {
                await tx.query(`insert into "${table}_effects" values ($1)`, [id])
                await complete(tx, 1).catch(() => {})
              })
        await transaction.catch(() => {})
      })
      await expect(run).rejects.toMatchObject({ code: 'lease-lost' })
      expect((await pool.query(`select * from "${table}_effects"`)).rows).toEqual([])
      await pool.query(`drop table "${table}", "${table}_effects"`)
    },
  )

  it('a transaction of Postgres that completes a job that the server commits after its client was lost is waited for, and the job is finished', async () => {
    const table = freshTable()
    const jobs = postgresJobs(pool, { table })
    const own = await pool.connect()
    const completed = vi.spyOn(jobs, 'completed')
    await using once = createOnce(jobs, { onWarning: () => {} })
    await once.add('job')
    const run = once.run('job', async ({ complete }) => {
      await own.query('begin')
      await complete(own, 1)
      throw new Error('the answer to COMMIT was lost')
    })
    await eventually(() => expect(completed.mock.settledResults).toMatchObject([{ value: false }]))
    // Now the run releases its lock, and waits for the row that this transaction has changed.
    await own.query('commit')
    own.release()
    expect(await run).toEqual({ ran: true, result: 1 })
    expect(await jobs.read('job')).toMatchObject({ status: 'READY', result: 1 })
    await pool.query(`drop table "${table}"`)
  })

  it('a transaction of Postgres that completes a job that is still open on a single Client when the work ends is not taken for a committed one', async () => {
    const table = freshTable()
    const own = new pg.Client(url)
    await own.connect()
    await using once = createOnce(postgresJobs(own, { table }), { onWarning: () => {} })
    await once.add('job')
    const run = once.run('job', async ({ complete }) => {
      await own.query('begin')
      return complete(own, 1)
    })
    await expect(run).rejects.toMatchObject({ code: 'outcome-unknown' })
    await own.query('rollback')
    expect(await once.read('job')).toMatchObject({ finished: false })
    await own.query(`drop table "${table}"`)
    await own.end()
  })
})

describe('a job in a table of Postgres', () => {
  it('a job in a table of Postgres can be in a table of the application, whose other columns stay as they are', async () => {
    const table = freshTable()
    await pool.query(`create table "${table}" (id uuid primary key, title text, state text, result jsonb, error text,
      attempts int, lock_owner text, lock_expires_at timestamptz, lock_heartbeat_at timestamptz, lock_token int8)`)
    const id = crypto.randomUUID()
    await pool.query(`insert into "${table}" (id, title, state) values ($1, 'mine', 'new')`, [id])
    for (const each of [pool, sql]) {
      const jobs = postgresJobs(each, { table, columns: { status: 'state' }, statuses: { ready: 'done' } })
      await pool.query(`update "${table}" set state = 'new'`)
      expect(await createOnce(jobs).run(id, () => ({ score: [1] }))).toMatchObject({ ran: true })
      const { rows } = await pool.query(`select title, state, result from "${table}"`)
      expect(rows).toEqual([{ title: 'mine', state: 'done', result: { score: [1] } }])
      expect(await jobs.read(id)).toMatchObject({ result: { score: [1] } })
    }
    // The table has no columns for results that are kept. Both add them, at the same time.
    const kept = crypto.randomUUID()
    const both = [pool, sql].map((each) =>
      createOnce(postgresJobs(each, { table, columns: { status: 'state' } })).result(kept, () => [1]),
    )
    const results = await Promise.all(both)
    expect(results.map(({ result }) => result)).toEqual([[1], [1]])
    expect(results.filter(({ ran }) => ran)).toHaveLength(1)
    await pool.query(`drop table "${table}"`)
  })

  it('a job in a table of Postgres is locked by the clock of the server, not of the worker', () =>
    expectServerClock(postgresJobs(pool, { table: freshTable() })))

  it('a job in a table of Postgres is locked for its whole TTL even if the statement had to wait for the row', async () => {
    const table = freshTable()
    const jobs = postgresJobs(pool, { table })
    await jobs.add('job')
    await client.query('begin')
    await client.query(`select from "${table}" for update`)
    const blocked = 'select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))'
    const asked = jobs.acquire('job', 'a', 60_000)
    await eventually(async () => expect((await client.query(blocked)).rowCount).toBe(1))
    // A TTL that began with the wait would include this time.
    await client.query('select pg_sleep(0.1)')
    const { rows } = await client.query('select clock_timestamp()::text as released')
    await client.query('commit')
    await asked
    const whole = `select extract(epoch from lock_expires_at - $1::timestamptz) * 1000 as ms from "${table}"`
    expect(Number((await pool.query(whole, [rows[0].released])).rows[0].ms)).toBeGreaterThan(59_999)
  })

  it('a job in a table of Postgres is in a table that many processes may create at the same time', async () => {
    const table = freshTable()
    const added = Array.from({ length: 10 }, () => postgresJobs(pool, { table }).add('job'))
    await Promise.all(added)
    expect((await pool.query(`select count(*)::int as count from "${table}"`)).rows).toEqual([{ count: 1 }])
  })

  it('a job in a table of Postgres has one holder at a time if many owners acquire and release it', async () => {
    const jobs = postgresJobs(pool, { table: freshTable() })
    await expectOneHolder(jobs, 30)
  })

  it('a job in a table of Postgres of an unreachable server is store-unavailable', async () => {
    const nobody = new pg.Pool({ connectionString: 'postgres://127.0.0.1:1/none' })
    await expect(postgresJobs(nobody).acquire('job', 'a', 1000)).rejects.toMatchObject({
      code: 'store-unavailable',
      retryable: true,
    })
    await nobody.end()
    await expect(postgresJobs(nobody).acquire('job', 'a', 1000)).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('this client was ended'),
    })
  })

  it('a job in a table of Postgres survives a broken idle connection: the error of the pool does not end the process', async () => {
    const own = new pg.Pool({ connectionString: url })
    const table = freshTable()
    const jobs = postgresJobs(own, { table })
    await jobs.add('job')
    const broken = new Promise((resolve) => own.once('error', resolve))
    const { rows } = await own.query('select pg_backend_pid() as pid')
    await pool.query('select pg_terminate_backend($1)', [rows[0].pid])
    await broken
    expect(own.listenerCount('error')).toBe(1)
    expect(await jobs.acquire('job', 'a', 1000)).toMatchObject({ granted: true })
    await own.end()
  })

  it('a job in a table of Postgres needs a Postgres client and valid options', () => {
    for (const none of [null, {}, 10n, url])
      expect(() => postgresJobs(none as never)).toThrow(
        'client: expected a Pool or Client of pg, or the sql of postgres, got ',
      )
    expect(() => postgresJobs(pool, null as never)).toThrow('options: expected an object, got null')
    expect(() => postgresJobs(pool, { table: 1n as never })).toThrow('table: expected a non-empty string')
    expect(() => postgresJobs(pool, { schema: '' })).toThrow('schema: expected a non-empty string')
    expect(() => postgresJobs(pool, { prepare: 'yes' as never })).toThrow('prepare: expected true or false')
    expect(() => postgresJobs(pool, { columns: { status: 'id2', result: 'id2' } })).toThrow(
      'columns: expected different names',
    )
  })
})

function freshTable(): string {
  return `jobs-${crypto.randomUUID().slice(0, 8)}`
}

async function inTransaction(work: (tx: pg.PoolClient) => unknown): Promise<void> {
  const own = await pool.connect()
  try {
    await own.query('begin')
    await work(own)
    await own.query('commit')
  } catch (error) {
    await own.query('rollback')
    throw error
  } finally {
    own.release()
  }
}
