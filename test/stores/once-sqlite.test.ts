import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createOnce, type RunningJob, sqliteJobs } from '../../src/once/index.ts'
import { FakeClock } from '../../src/testing/index.ts'
import { eventually } from '../eventually.ts'
import type { Transactions } from '../once/describe-completion.ts'
import { describeJobStore } from '../once/describe-job-store.ts'
import { RunningClock } from './sqlite/running-clock.ts'

const COLUMN = { status: 'status', lockOwner: 'lock_owner', lockExpiresAt: 'lock_expires_at' }

describeJobStore('sqlite', {
  ttl: 1000,
  completes: true,
  create: async () => {
    const { path, dispose } = await temporary()
    const clock = new FakeClock()
    const [first, second, third] = [1, 2, 3].map(() => new DatabaseSync(path)) as [
      DatabaseSync,
      DatabaseSync,
      DatabaseSync,
    ]
    return {
      clock,
      jobs: sqliteJobs(first, { clock }),
      peer: sqliteJobs(second, { clock }),
      transactions: {
        async run(work) {
          third.exec('begin immediate')
          try {
            await work(third)
            third.exec('commit')
          } catch (error) {
            third.exec('rollback')
            throw error
          }
        },
        outside: [third, first],
      } satisfies Transactions,
      set: async (id: string, field: keyof typeof COLUMN, value: string) => {
        first.prepare(`update jobs set ${COLUMN[field]} = ? where id = ?`).run(value, id)
      },
      dispose: async () => {
        for (const database of [first, second, third]) database.close()
        await dispose()
      },
    }
  },
  pass: ({ clock }, ms) => clock.advance(ms),
})

describe('a synchronous transaction of SQLite', () => {
  it.each(['its own connection', 'the connection of the store'])(
    'completes a job on %s without an await',
    async (which) => {
      const { path, dispose } = await temporary()
      using database = new DatabaseSync(path)
      using other = new DatabaseSync(path)
      const tx = which === 'its own connection' ? other : database
      database.exec('create table effects (id text)')
      await using once = createOnce(sqliteJobs(database))
      await once.add('job')
      const pay = (id: string, complete: RunningJob['complete']) => {
        tx.exec('begin immediate')
        try {
          tx.prepare('insert into effects values (?)').run(id)
          complete(tx, { paid: 1 })
          tx.exec('commit')
        } catch (error) {
          tx.exec('rollback')
          throw error
        }
      }
      const run = once.run('job', ({ id, complete }) => {
        pay(id, complete)
        // As after a COMMIT whose answer was lost.
        expect(() => pay(id, complete)).toThrow('was lost')
      })
      expect(await run).toEqual({ ran: true, result: { paid: 1 } })
      expect(database.prepare('select * from effects').all()).toHaveLength(1)
      await dispose()
    },
  )

  it('a synchronous transaction of SQLite that is still open when the work ends is not taken for a committed one', async () => {
    const { path, dispose } = await temporary()
    using database = new DatabaseSync(path)
    const jobs = sqliteJobs(database)
    const completed = vi.spyOn(jobs, 'completed')
    await using once = createOnce(jobs)
    await once.add('job')
    const run = once.run('job', ({ complete }) => {
      database.exec('begin immediate')
      return complete(database, 1)
    })
    const rejected = expect(run).rejects.toMatchObject({ code: 'not-finished' })
    await eventually(() => expect(completed).toHaveBeenCalled())
    database.exec('rollback')
    await rejected
    expect(await once.read('job')).toMatchObject({ finished: false })
    await dispose()
  })
})

describe('a job in a table of SQLite', () => {
  let path: string
  let database: DatabaseSync
  let dispose: () => Promise<void>
  beforeEach(async () => {
    ;({ path, dispose } = await temporary())
    database = new DatabaseSync(path)
  })
  afterEach(async () => {
    database.close()
    await dispose()
  })

  it('a job in a table of SQLite can be in a table of the application, whose other columns stay as they are', async () => {
    database.exec(`create table tasks (id text primary key, title text, state text, outcome text, error text,
      attempts integer, lock_owner text, lock_expires_at text, lock_heartbeat_at text, lock_token integer)`)
    database.exec(`insert into tasks (id, title, state) values ('job', 'mine', 'new')`)
    const jobs = sqliteJobs(database, {
      table: 'tasks',
      columns: { status: 'state', result: 'outcome' },
      statuses: { ready: 'done' },
    })
    await createOnce(jobs).run('job', () => ({ score: 1 }))
    expect(database.prepare('select title, state, outcome from tasks').get()).toEqual({
      title: 'mine',
      state: 'done',
      outcome: '{"score":1}',
    })
    // The table has no columns for results that are kept.
    const once = createOnce(jobs)
    expect(await once.result('kept', () => 1)).toEqual({ ran: true, result: 1 })
    expect(await once.result('kept', () => 2)).toEqual({ ran: false, result: 1 })
  })

  it.each([{ returnArrays: true }, { readBigInts: true }])(
    'is run once whatever the options of the database are: %j',
    async (options) => {
      const configured = new DatabaseSync(path, options)
      onTestFinished(() => configured.close())
      const jobs = sqliteJobs(configured)
      await jobs.add('job')
      const work = async () => ({ inner: await createOnce(jobs).run('job', () => 'again') })
      expect(await createOnce(jobs).run('job', work)).toMatchObject({
        ran: true,
        result: { inner: { ran: false, reason: 'locked', job: { id: 'job', finished: false } } },
      })
      expect(await jobs.read('job')).toMatchObject({ finished: true, attempts: 1 })
      await rm(path)
      await expect(jobs.read('job')).rejects.toThrow('was deleted or replaced')
    },
  )

  it('a job in a table of SQLite may have other columns with integers that a number cannot hold', async () => {
    const jobs = sqliteJobs(database)
    await jobs.add('job')
    database.exec(`alter table jobs add column tweet integer; update jobs set tweet = 1 << 60`)
    expect(await createOnce(jobs).run('job', () => 1)).toEqual({ ran: true, result: 1 })
  })

  it('waits for another writer without blocking the event loop', async () => {
    const jobs = sqliteJobs(database, { clock: runningClock() })
    await jobs.add('job')
    const other = new DatabaseSync(path)
    other.exec('begin immediate')
    const asked = jobs.acquire('job', 'a', 1000)
    let ticks = 0
    for (; ticks < 20; ticks++) await new Promise((resolve) => setTimeout(resolve, 1))
    other.exec('commit')
    other.close()
    expect(await asked).toMatchObject({ granted: true })
    expect(ticks).toBe(20)
  })

  it('a job in a table of SQLite is not granted within a transaction of the application, which may be rolled back', async () => {
    const jobs = sqliteJobs(database, { clock: runningClock() })
    await jobs.add('job')
    database.exec('begin')
    const asked = jobs.acquire('job', 'a', 1000)
    await new Promise((resolve) => setTimeout(resolve, 10))
    database.exec('rollback')
    expect(await asked).toMatchObject({ granted: true })
    expect(await jobs.read('job')).toMatchObject({ attempts: 1 })
  })

  it('a job in a table of SQLite of a file that stays locked is store-unavailable', async () => {
    const clock = new FakeClock()
    const jobs = sqliteJobs(database, { clock })
    await jobs.add('job')
    const other = new DatabaseSync(path)
    other.exec('begin immediate')
    const refused = expect(jobs.acquire('job', 'a', 1000)).rejects.toMatchObject({
      code: 'store-unavailable',
    })
    await clock.advance(5000)
    await refused
    other.close()
  })

  it('a job in a table of SQLite is not locked in a file that was deleted or replaced, which no other process can see', async () => {
    // Without a log, SQLite itself refuses to write to a deleted file.
    database.exec('pragma journal_mode = wal')
    const jobs = sqliteJobs(database)
    await jobs.add('job')
    await Promise.all(['', '-wal', '-shm'].map((suffix) => rm(path + suffix)))
    const gone = { code: 'store-failed', message: expect.stringContaining('was deleted or replaced') }
    await expect(jobs.acquire('job', 'a', 1000)).rejects.toMatchObject(gone)
    const replaced = new DatabaseSync(path)
    onTestFinished(() => replaced.close())
    await sqliteJobs(replaced).add('job')
    await expect(jobs.acquire('job', 'a', 1000)).rejects.toMatchObject(gone)
    expect(await sqliteJobs(replaced).acquire('job', 'b', 1000)).toMatchObject({ granted: true })
  })

  it('a job in a table of SQLite needs a database and valid options', () => {
    for (const none of [null, {}, 10n, './jobs.db'])
      expect(() => sqliteJobs(none as never)).toThrow(
        'database: expected a DatabaseSync of node:sqlite, got ',
      )
    expect(() => sqliteJobs(database, null as never)).toThrow('options: expected an object, got null')
    expect(() => sqliteJobs(database, { table: '' })).toThrow('table: expected a non-empty string')
  })

  it('a job in a table of SQLite of a table without the columns is store-failed, and the message names the missing column', async () => {
    database.exec(`create table jobs (id text primary key, status text, result text, error text,
      attempts integer)`)
    database.exec(`insert into jobs (id, status) values ('job', 'new')`)
    await expect(sqliteJobs(database).acquire('job', 'a', 1000)).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('lock_owner'),
    })
  })

  it('a job in a table of SQLite with an unreadable expiry and no heartbeat stays locked for a TTL after the first request', async () => {
    const clock = new FakeClock()
    const jobs = sqliteJobs(database, { clock })
    await jobs.add('job')
    database.exec(`update jobs set lock_owner = 'x', lock_expires_at = 'soon', lock_heartbeat_at = '?'`)
    for (const ms of [0, 999]) {
      await clock.advance(ms)
      expect(await jobs.acquire('job', 'a', 1000)).toMatchObject({ reason: 'locked' })
    }
    await clock.advance(2)
    expect(await jobs.acquire('job', 'a', 1000)).toMatchObject({ granted: true })
  })
})

/** With this clock, a store waits as long on a busy machine as on an idle one. */
function runningClock(): RunningClock {
  const clock = new RunningClock()
  onTestFinished(() => clock.stop())
  return clock
}

async function temporary() {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-once-'))
  return {
    path: join(directory, 'jobs.db'),
    dispose: () => rm(directory, { recursive: true, force: true }),
  }
}
