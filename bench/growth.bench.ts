/** What grows: queues of up to 10 000 waiters, and 100 000 resources that were used once. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Redis } from 'ioredis'
import pg from 'pg'
import { type ServerName, startServer } from '../scripts/services/index.ts'
import { leaveBehind } from './growth/leftovers.ts'
import { benchQueues } from './growth/queues.ts'
import { startHoldfast } from './holdfast-server.ts'
import { printTable } from './measure.ts'
import type { BenchFlags } from './run.ts'

const COUNTS = [10, 100, 1000, 10_000]
/** So many resources are used once for each waiter of the longest queue. */
const RESOURCES_PER_WAITER = 10
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
  mysql: () => onServer('mysql'),
  etcd: () => onServer('etcd'),
  async http() {
    const { url, stop } = await startHoldfast()
    return { address: url, crowds: [1, 5], stop }
  },
}

export async function run({ stores, most = '10000' }: BenchFlags): Promise<void> {
  const counts = COUNTS.filter((count) => count <= Number(most))
  const resources = RESOURCES_PER_WAITER * Number(most)
  const left: string[][] = []
  for (const name of stores?.split(',') ?? Object.keys(SUBJECTS)) {
    const subject = await SUBJECTS[name]?.()
    if (!subject) throw new Error(`no store ${name}; there are ${Object.keys(SUBJECTS).join(', ')}`)
    const { address, crowds, remains, stop } = subject
    try {
      await benchQueues(name, address, counts, crowds)
      if (remains) left.push(await leaveBehind(name, address, resources, remains))
    } finally {
      await stop()
    }
  }
  printTable(`${resources} resources, taken and released once`, [['', 's', 'rows or keys', 'kB'], ...left])
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
