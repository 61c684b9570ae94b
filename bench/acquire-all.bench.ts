/** Ten free leases: in one request, and one after the other, as with a store that has no `acquireAll`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from '../scripts/services/index.ts'
import { createLeases, type LeaseStore, type ManagedStore } from '../src/core/index.ts'
import { openStore } from './growth/open-store.ts'
import { compareRates, printTable, rateTable } from './measure.ts'
import type { BenchFlags } from './run.ts'

const NAMES = Array.from({ length: 10 }, (_, n) => `name ${n}`)
const ONE_BY_ONE = 'one by one'
const STORES = ['memory', 'sqlite', 'redis', 'postgres', 'mysql'] as const

export async function run({ stores }: BenchFlags): Promise<void> {
  const wanted = stores?.split(',') ?? STORES
  for (const name of STORES.filter((store) => wanted.includes(store))) {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
    const server = name === 'memory' || name === 'sqlite' ? undefined : await startServer(name)
    const address =
      server?.address ?? (name === 'memory' ? 'memory:' : `sqlite:${join(directory, 'leases.db')}`)
    const { store, close } = await openStore(address)
    try {
      await benchTogether(name, store)
    } finally {
      await close()
      await server?.stop()
      rmSync(directory, { recursive: true })
    }
  }
}

async function benchTogether(name: string, store: LeaseStore): Promise<void> {
  const contenders = [
    { name: 'acquireAll', ...counted(store, true) },
    { name: ONE_BY_ONE, ...counted(store, false) },
  ].map(({ name, managed, calls }) => {
    const leases = createLeases(managed)
    let runs = 0
    return {
      name,
      run: async () => {
        runs++
        await (await leases.acquireAll(NAMES)).release()
      },
      callsEach: () => (calls() / runs).toFixed(1),
    }
  })
  const table = rateTable(await compareRates(contenders), ONE_BY_ONE)
  printTable(
    `${name}: ten leases acquired together, and released`,
    table.map((row, n) => [...row, n === 0 ? 'acquire calls' : (contenders[n - 1]?.callsEach() ?? '')]),
  )
}

/** Counts the requests that acquire: each is one round trip. */
function counted(store: LeaseStore, together: boolean): { managed: ManagedStore; calls: () => number } {
  let calls = 0
  const managed: ManagedStore = {
    kind: store.kind,
    supports: store.supports,
    acquire(ask, call) {
      calls++
      return store.acquire(ask, call)
    },
    ...(together &&
      store.acquireAll && {
        acquireAll(asks, call) {
          calls++
          return (store as Required<LeaseStore>).acquireAll(asks, call)
        },
      }),
    renew: (ask, call) => store.renew(ask, call),
    release: (by, call) => store.release(by, call),
    close: async () => {},
  }
  return { managed, calls: () => calls }
}
