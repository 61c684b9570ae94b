/** When a process ends that holds a lease, or that is shut down in the middle of something. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from './open-store.ts'

const {
  HOLDFAST_TEST_REDIS_URL: redis = '',
  HOLDFAST_TEST_POSTGRES_URL: postgres = '',
  HOLDFAST_TEST_MYSQL_URL: mysql = '',
  HOLDFAST_TEST_NATS_URL: nats = '',
  HOLDFAST_TEST_ETCD_URL: etcd = '',
} = process.env

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-exit-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

/** The server of `global-setup` is shared by many tests. */
const resource = () => `exit-${crypto.randomUUID()}`

const ADDRESSES: Readonly<Record<string, () => string>> = {
  memory: () => 'memory:',
  SQLite: () => `sqlite:${join(directory, 'leases.db')}`,
  file: () => pathToFileURL(join(directory, 'locks')).href,
  Redis: () => redis,
  Postgres: () => postgres,
  'Postgres with allowExitOnIdle': () => `${postgres}?allowExitOnIdle`,
  MySQL: () => mysql,
  NATS: () => nats,
  etcd: () => etcd,
}

describe('a process that holds a lease', () => {
  // The clients of the other stores keep a process alive by themselves.
  it.each(['memory', 'SQLite', 'file', 'Postgres with allowExitOnIdle', 'etcd'])(
    'ends when it has nothing else to do: %s',
    async (store) => {
      expect(await endOf(store, 'holds a lease')).toEqual({ code: 0, output: 'done' })
    },
  )

  it.each(['Redis', 'Postgres', 'MySQL', 'NATS', 'etcd'])(
    'ends once its client is closed: %s',
    async (store) => {
      expect(await endOf(store, 'holds a lease and closes its client')).toEqual({ code: 0, output: 'done' })
    },
  )

  it('a process that holds a lease is not ended by `await store.close()`, though no connection keeps it alive', async () => {
    const end = await endOf('Postgres with allowExitOnIdle', 'holds a lease and closes its store')
    expect(end).toEqual({ code: 0, output: 'done' })
  })
})

describe('a process that stops in the middle of an acquire', () => {
  it.each(['SQLite', 'file', 'Redis', 'Postgres', 'MySQL', 'NATS', 'etcd'])(
    'leaves no lease behind: %s',
    async (store) => {
      const name = resource()
      expect(await endOf(store, 'stops during an acquire', name)).toEqual({ code: 0, output: 'done' })
      await using peer = await opened(store)
      expect(await peer.store.read([name])).toEqual([[]])
    },
  )
})

async function opened(store: string) {
  const { store: peer, close } = await openStore(ADDRESSES[store]?.() ?? '')
  return { store: peer, [Symbol.asyncDispose]: close }
}

interface End {
  readonly code: number | null
  readonly output: string
}

function endOf(store: string, what: string, name = resource()): Promise<End> {
  const args = [join(import.meta.dirname, 'exit-child.ts'), ADDRESSES[store]?.() ?? '', name, what]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      output += data
    })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output: output.trim() }))
  })
}
