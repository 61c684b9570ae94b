/**
 * What grows: queues of up to 10 000 waiters, and 100 000 resources that were used once. `GROWTH=1000` limits the
 * longest queue, `STORES=redis,postgres` chooses the stores.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Redis } from 'ioredis'
import pg from 'pg'
import { type ServerName, startServer } from '../scripts/services/index.ts'
import { leaveBehind } from './growth/leftovers.ts'
import { benchQueues } from './growth/queues.ts'
import { printTable } from './measure.ts'

const { GROWTH = '10000', STORES = 'memory,sqlite,redis,postgres,nats' } = process.env
const COUNTS = [10, 100, 1000, 10_000].filter((count) => count <= Number(GROWTH))
const RESOURCES = 10 * Number(GROWTH)
const KB = 1000

interface Subject {
  readonly address: string
  readonly crowds: readonly number[]
  /** Rows or keys, and kilobytes. */
  remains?(): Promise<string[]>
  stop(): Promise<void>
}

const SUBJECTS: Readonly<Record<string, () => Promise<Subject>>> = {
  memory: async () => ({ address: 'memory:', crowds: [1], stop: async () => {} }),
  sqlite,
  redis: () => onServer('redis', redisRemains),
  postgres: () => onServer('postgres', postgresRemains),
  nats: () => onServer('nats'),
}

export async function run(): Promise<void> {
  const left: string[][] = []
  for (const name of STORES.split(',')) {
    const subject = await SUBJECTS[name]?.()
    if (!subject) throw new Error(`no store ${name}; there are ${Object.keys(SUBJECTS).join(', ')}`)
    const { address, crowds, remains, stop } = subject
    try {
      await benchQueues(name, address, COUNTS, crowds)
      if (remains) left.push(await leaveBehind(name, address, RESOURCES, remains))
    } finally {
      await stop()
    }
  }
  printTable(`${RESOURCES} resources, taken and released once`, [['', 's', 'rows or keys', 'kB'], ...left])
}

async function sqlite(): Promise<Subject> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-growth-'))
  const path = join(directory, 'leases.db')
  return {
    address: `sqlite:${path}`,
    crowds: [1, 5],
    async remains() {
      const db = new DatabaseSync(path)
      const { rows } = db.prepare('SELECT count(*) AS rows FROM holdfast_leases').get() as { rows: number }
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      db.close()
      return [String(rows), (statSync(path).size / KB).toFixed(0)]
    },
    stop: async () => rmSync(directory, { recursive: true }),
  }
}

async function onServer(
  name: ServerName,
  remains?: (address: string) => Promise<string[]>,
): Promise<Subject> {
  const server = await startServer(name)
  const { address } = server
  return {
    address,
    crowds: [1, 5],
    ...(remains && { remains: () => remains(address) }),
    stop: () => server.stop(),
  }
}

async function redisRemains(address: string): Promise<string[]> {
  const client = new Redis(address)
  const keys = await client.dbsize()
  const [, bytes] = /used_memory:(\d+)/.exec(await client.info('memory')) ?? []
  client.disconnect()
  return [String(keys), (Number(bytes) / KB).toFixed(0)]
}

async function postgresRemains(address: string): Promise<string[]> {
  const client = new pg.Client(address)
  await client.connect()
  const { rows } = await client.query(`select count(*)::text as rows,
    round((pg_total_relation_size('holdfast_leases') + pg_total_relation_size('holdfast_leases_waiters')) / ${KB}.0)::text
      as kilobytes from holdfast_leases`)
  await client.end()
  return [rows[0].rows, rows[0].kilobytes]
}
