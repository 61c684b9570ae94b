import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJobs } from '../../examples/job-worker/open-jobs.ts'
import { describeIdempotency } from '../idempotency/describe-idempotency.ts'

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

async function openTwice(url: string) {
  const table = `jobs_${crypto.randomUUID().slice(0, 8)}`
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
