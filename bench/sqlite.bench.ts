/** Acquire and release beside the two bare statements that one would write by hand. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createLeases } from '../src/core/index.ts'
import { sqliteStore } from '../src/stores/sqlite/index.ts'
import { type Contender, compareRates, printTable, rateTable } from './measure.ts'

const BARE = 'two bare statements'
const TTL_MS = 30_000
const RESOURCES = Array.from({ length: 100 }, (_, n) => `invoice:${n}`)

export async function run(): Promise<void> {
  for (const synchronous of ['normal', 'full'] as const) {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
    const bare = bareStatements(join(directory, 'bare.db'), synchronous)
    const port = throughPort(join(directory, 'port.db'), synchronous)
    const manager = throughManager(join(directory, 'manager.db'), synchronous)
    const rates = await compareRates([bare, port, manager])
    printTable(`SQLite, acquire + release, synchronous = ${synchronous}`, rateTable(rates, BARE))
    for (const contender of [bare, port, manager]) await contender.close()
    rmSync(directory, { recursive: true })
  }
}

type Closable = Contender & { close(): unknown }

function bareStatements(path: string, synchronous: string): Closable {
  const db = new DatabaseSync(path)
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
    CREATE TABLE lease (resource TEXT PRIMARY KEY, owner TEXT, expires INTEGER, token INTEGER NOT NULL)`)
  const acquire = db.prepare(
    `INSERT INTO lease VALUES (?1, ?2, ?3, 1) ON CONFLICT (resource)
     DO UPDATE SET owner = excluded.owner, expires = excluded.expires, token = token + 1
     WHERE owner IS NULL OR expires <= ?4 RETURNING token`,
  )
  const release = db.prepare('UPDATE lease SET owner = NULL WHERE resource = ? AND owner = ?')
  const next = resources()
  const run = async () => {
    const [resource, owner, now] = [next(), crypto.randomUUID(), Date.now()]
    if (!acquire.get(resource, owner, now + TTL_MS, now)) throw new Error('not granted')
    await undefined
    if (release.run(resource, owner).changes !== 1) throw new Error('not released')
  }
  return { name: BARE, run, close: () => db.close() }
}

function throughPort(path: string, synchronous: 'normal' | 'full'): Closable {
  const store = sqliteStore(path, { synchronous })
  const next = resources()
  const run = async () => {
    const [resource, id] = [next(), crypto.randomUUID()]
    const { granted } = await store.acquire({ resource, id, owner: 'bench', ttl: TTL_MS, lost: () => {} })
    if (!granted) throw new Error('not granted')
    const { ended } = await store.release({ resource, id })
    if (!ended) throw new Error('not released')
  }
  return { name: 'store.acquire, store.release', run, close: () => store.close() }
}

function throughManager(path: string, synchronous: 'normal' | 'full'): Closable {
  const store = sqliteStore(path, { synchronous })
  const leases = createLeases(store)
  const next = resources()
  const run = async () => {
    const lease = await leases.tryAcquire(next())
    if (!lease) throw new Error('not granted')
    await lease.release()
  }
  return { name: 'leases.tryAcquire, lease.release', run, close: () => store.close() }
}

function resources(): () => string {
  let turn = 0
  return () => RESOURCES[turn++ % RESOURCES.length] ?? ''
}
