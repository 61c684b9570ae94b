import { appendFileSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { Holdfast, temporaryDirectory } from './holdfast.ts'
import { kindsOfStores } from './stores.ts'

const {
  HOLDFAST_TEST_REDIS_URL: redis,
  HOLDFAST_TEST_POSTGRES_URL: postgres,
  HOLDFAST_TEST_MYSQL_URL: mysql,
  HOLDFAST_TEST_ETCD_URL: etcd,
} = process.env
const WITH_JOBS = ['sqlite', 'redis', 'postgres', 'mysql', 'etcd']
const DAY_MS = 86_400_000

const kinds = kindsOfStores({ redis, postgres, mysql, nats: undefined, etcd }).filter(([kind]) =>
  WITH_JOBS.includes(kind),
)

describe.each(kinds)('holdfast run --once on %s', (_, storeIn) => {
  it('skips a job that is done with 0, and repeats one that has failed', async () => {
    const { once, runs } = await prepare()
    expect(await once([], 'exit 3').ended).toMatchObject({ code: 3 })
    expect(await once([]).ended).toMatchObject({ code: 0, stderr: '' })
    const skipped = await once([], 'exit 3').ended
    expect(skipped).toMatchObject({ code: 0, stderr: expect.stringContaining('is done') })
    expect(await once(['--quiet']).ended).toMatchObject({ code: 0, stderr: '' })
    expect(runs()).toBe(2)
  })

  it('runs the command of one of two at the same time, and the other waits and skips it', async () => {
    const { once, runs, directory } = await prepare()
    const first = once([], `while [ ! -e '${join(directory, 'go')}' ]; do sleep 0.05; done`)
    await expect.poll(runs).toBe(1)
    const second = once([])
    expect(await once(['--if-available']).ended).toMatchObject({ code: 75 })
    appendFileSync(join(directory, 'go'), '')
    expect(await first.ended).toMatchObject({ code: 0, stderr: '' })
    expect(await second.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('is done') })
    expect(runs()).toBe(1)
  })

  it('runs a job again that is kept no longer', async () => {
    const { once, runs } = await prepare()
    for (let run = 1; run <= 2; run++) expect(await once(['--keep', '1ms']).ended).toMatchObject({ code: 0 })
    expect(runs()).toBe(2)
  })

  async function prepare() {
    const directory = temporaryDirectory()
    const store = await storeIn(directory)
    const log = join(directory, 'runs')
    appendFileSync(log, '')
    return {
      directory,
      runs: () => readFileSync(log, 'utf8').split('\n').length - 1,
      once: (flags: string[], script = 'true') => {
        const command = ['sh', '-c', `echo ran >> '${log}'; ${script}`]
        const job = `job-${basename(directory)}`
        return new Holdfast(['run', '--once', job, '--store', store, ...flags, '--', ...command])
      },
    }
  }
})

describe('holdfast run --once', () => {
  it('holdfast run --once keeps what is done for 30 days, and then runs it again', async () => {
    const path = join(temporaryDirectory(), 'holdfast.db')
    const run = () => new Holdfast(['run', '--once', 'job', '--store', `sqlite:${path}`, '--', 'true']).ended
    const started = Date.now()
    expect(await run()).toMatchObject({ code: 0, stderr: '' })
    const keptUntil = Date.parse(inJobs(path, 'select kept_until from holdfast_jobs'))
    expect(keptUntil).toBeGreaterThanOrEqual(started + 30 * DAY_MS)
    expect(keptUntil).toBeLessThanOrEqual(Date.now() + 30 * DAY_MS)
    inJobs(path, `update holdfast_jobs set kept_until = '2020-01-01T00:00:00.000Z' returning 1`)
    expect(await run()).toMatchObject({ code: 0, stderr: '' })
    expect(inJobs(path, 'select attempts from holdfast_jobs')).toBe(1)
  })

  it.each([
    [['--once', '--share', '2'], '--once: not together with --share'],
    [['--once', '--at-least', '1m'], '--once: not together with --at-least'],
    [['--keep', '1h'], '--keep: only with --once'],
    [['--once', '--keep', '400d'], '--keep: expected at most'],
    [
      ['--once', '--store', 'file:./locks'],
      '--once: expected a store of sqlite, postgres, mysql, redis or etcd',
    ],
  ])('holdfast run --once refuses %j with 64', async (flags, message) => {
    const cwd = temporaryDirectory()
    const { code, stderr } = await new Holdfast(['run', 'job', ...flags, '--', 'true'], { cwd }).ended
    expect([code, stderr]).toEqual([64, expect.stringContaining(message)])
  })

  it('holdfast run --once is stopped when another worker has taken the job, and the job is not done', async () => {
    const path = join(temporaryDirectory(), 'holdfast.db')
    const run = new Holdfast([
      ...['run', '--once', 'job', '--ttl', '3s', '--store', `sqlite:${path}`],
      ...['--', 'sh', '-c', 'echo started; sleep 600'],
    ])
    await expect.poll(() => run.stdout).toContain('started')
    inJobs(path, `update holdfast_jobs set lock_owner = 'another' returning 1`)
    expect(await run.ended).toMatchObject({ code: 76, stderr: expect.stringContaining('was lost') })
    expect(inJobs(path, 'select status from holdfast_jobs')).toBe('PENDING')
  })

  function inJobs(path: string, sql: string): never {
    using database = new DatabaseSync(path, { timeout: 5000 })
    return Object.values(database.prepare(sql).get() ?? {})[0] as never
  }
})
