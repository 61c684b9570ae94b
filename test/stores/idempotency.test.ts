import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, it } from 'vitest'
import { openJobs } from '../../examples/job-worker/open-jobs.ts'
import { idempotent } from '../../src/idempotency/index.ts'
import { postgresJobs } from '../../src/once/index.ts'
import { bytesOf, describeIdempotency, post, userOf } from '../idempotency/describe-idempotency.ts'

const {
  HOLDFAST_TEST_REDIS_URL: redis = '',
  HOLDFAST_TEST_POSTGRES_URL: postgres = '',
  HOLDFAST_TEST_MYSQL_URL: mysql = '',
  HOLDFAST_TEST_ETCD_URL: etcd = '',
  FIRESTORE_EMULATOR_HOST: emulator = '',
} = process.env

const ADDRESSES = { redis, postgres, mysql, etcd, firestore: emulator && 'firestore:holdfast' }

for (const [name, url] of Object.entries(ADDRESSES))
  describeIdempotency(name, () => {
    if (!url) throw new Error(`expected a server of ${name}`)
    return openTwice(url)
  })

describeIdempotency('sqlite', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-idempotency-'))
  const { dispose, ...opened } = await openTwice(`sqlite:${join(directory, 'jobs.db')}`)
  return {
    ...opened,
    async dispose() {
      await dispose()
      await rm(directory, { recursive: true })
    },
  }
})

it('an answer with NUL is replayed from a jsonb column of Postgres, which cannot store NUL', async () => {
  const pool = new pg.Pool({ connectionString: postgres })
  const table = freshTable()
  const jobs = postgresJobs(pool, { table })
  await jobs.add('any')
  await pool.query(`alter table ${table} alter column result type jsonb using result::jsonb`)
  const bytes = new Uint8Array([0x61, 0, 0x62])
  const handler = idempotent(() => new Response(bytes), { jobs, principal: userOf })
  for (let n = 0; n < 2; n++) expect(await bytesOf(await handler(post()))).toEqual(bytes)
  await pool.end()
})

function freshTable(): string {
  return `jobs_${crypto.randomUUID().slice(0, 8)}`
}

async function openTwice(url: string) {
  const table = freshTable()
  const [one, two] = [await openJobs(url, table), await openJobs(url, table)]
  return {
    jobs: one.jobs,
    peer: two.jobs,
    async dispose() {
      await one[Symbol.asyncDispose]()
      await two[Symbol.asyncDispose]()
    },
  }
}
