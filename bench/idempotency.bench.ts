/** What a replay of a stored answer costs, beside a bare read of the record that holds it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Redis } from 'ioredis'
import { startServer } from '../scripts/services/index.ts'
import { idempotent } from '../src/idempotency/index.ts'
import { createOnce, type JobStore, redisJobs, sqliteJobs } from '../src/once/index.ts'
import { type Contender, compareRates, printTable, rateTable } from './measure.ts'

const BARE = 'a bare read of the record'
const ORDER = JSON.stringify({ number: 42, amount: 1990, note: 'x'.repeat(500) })
const RECEIPT = { charged: 1990, lines: 'y'.repeat(1000) }

export async function run(): Promise<void> {
  await onRedis()
  await onSqlite()
}

async function onRedis(): Promise<void> {
  const server = await startServer('redis')
  const redis = new Redis(server.address)
  try {
    const contenders = await replaysOf(redisJobs(redis), (id) => () => redis.hgetall(`jobs:${id}`))
    printTable('Redis, one stored answer', rateTable(await compareRates(contenders), BARE))
    const parallel = await compareRates(contenders, { parallel: 32 })
    printTable('Redis, one stored answer, 32 at a time', rateTable(parallel, BARE))
  } finally {
    redis.disconnect()
    await server.stop()
  }
}

async function onSqlite(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const database = new DatabaseSync(join(directory, 'jobs.db'))
  database.exec('pragma journal_mode = wal; pragma synchronous = normal')
  try {
    const contenders = await replaysOf(sqliteJobs(database), (id) => {
      const read = database.prepare('select * from jobs where id = ?')
      return async () => JSON.parse(String(read.get(id)?.['result']))
    })
    printTable('SQLite, one stored answer', rateTable(await compareRates(contenders), BARE))
  } finally {
    database.close()
    rmSync(directory, { recursive: true })
  }
}

/** `bare`: reads the record of a job with the client alone. */
async function replaysOf(jobs: JobStore, bare: (id: string) => () => Promise<unknown>): Promise<Contender[]> {
  const ids: string[] = []
  const noting: JobStore = {
    ...jobs,
    acquire: (id, ...rest) => {
      ids.push(id)
      return jobs.acquire(id, ...rest)
    },
  }
  const options = { principal: () => 'mika' }
  await idempotent(() => Response.json(RECEIPT), { ...options, jobs: noting })(request())
  const [id = ''] = ids
  const once = createOnce(jobs)
  await once.result('alone', () => RECEIPT)
  const handler = idempotent(() => Promise.reject(new Error('it has run before')), { ...options, once })
  return [
    { name: BARE, run: bare(id) },
    { name: 'once.read', run: () => once.read(id) },
    { name: 'once.result', run: () => once.result('alone', () => Promise.reject(new Error('ran again'))) },
    {
      name: 'a replay, from Request to Response',
      async run() {
        const response = await handler(request())
        if (!response.headers.has('idempotent-replayed')) throw new Error(`no replay: ${response.status}`)
        await response.arrayBuffer()
      },
    },
  ]
}

function request(): Request {
  return new Request('http://localhost/charges', {
    method: 'POST',
    headers: { 'idempotency-key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' },
    body: ORDER,
  })
}
