/** Acquire and release, and handoff to a waiter, beside proper-lockfile. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLeases } from '../src/core/index.ts'
import { fileStore } from '../src/stores/file/index.ts'
import { type Contender, compareRates, printTable, quantile, rateTable } from './measure.ts'

const PEER = 'proper-lockfile'
const TTL_MS = 30_000
const HAND_OVERS = 200

/** What is used of the peer, which brings no types. */
interface Lockfile {
  lock(path: string, options?: { retries: object }): Promise<() => Promise<void>>
}

export async function run(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const peer = await loadPeer()
  if (!peer) console.log(`${PEER} is not installed in bench/: it is left out`)
  await compareUncontended(directory, peer)
  await compareHandoff(directory, peer)
  rmSync(directory, { recursive: true })
}

async function loadPeer(): Promise<Lockfile | null> {
  try {
    return (await import(PEER)).default
  } catch {
    return null
  }
}

async function compareUncontended(directory: string, peer: Lockfile | null): Promise<void> {
  const store = fileStore(join(directory, 'locks'))
  const leases = createLeases(store)
  const contenders: Contender[] = [
    {
      name: 'store.acquire, store.release',
      run: async () => {
        const ask = { resource: 'x', id: crypto.randomUUID(), owner: 'bench', ttl: TTL_MS }
        const { granted } = await store.acquire(ask)
        if (!granted) throw new Error('not granted')
        await store.release(ask)
      },
    },
    {
      name: 'leases.tryAcquire, lease.release',
      run: async () => {
        const lease = await leases.tryAcquire('y')
        if (!lease) throw new Error('not granted')
        await lease.release()
      },
    },
  ]
  const path = lockedFile(directory)
  if (peer) contenders.unshift({ name: PEER, run: async () => (await peer.lock(path))() })
  const rates = await compareRates(contenders)
  await store.close()
  printTable('File, acquire + release', rateTable(rates, contenders[0]?.name ?? ''))
}

/** Two stores, as two processes have them, hand one lease to each other. */
async function compareHandoff(directory: string, peer: Lockfile | null): Promise<void> {
  const stores = [fileStore(join(directory, 'shared')), fileStore(join(directory, 'shared'))]
  const managers = stores.map((store) => createLeases(store))
  const leases = await handOver(async (turn) => {
    const lease = await managers[turn % 2]?.acquire('x')
    return async () => lease?.release()
  })
  await Promise.all(stores.map((store) => store.close()))
  const rows = [['', 'p50 ms', 'p99 ms'], row('leases, woken by push', leases)]
  if (peer) {
    const retries = { forever: true, factor: 1, minTimeout: 10, maxTimeout: 10 }
    const path = lockedFile(directory)
    const polled = await handOver(() => peer.lock(path, { retries }))
    rows.push(row(`${PEER}, retried every 10 ms`, polled))
  }
  printTable(`File, handoff to one waiter, ${HAND_OVERS} times`, rows)
}

/** Milliseconds from the call of each release to the next grant. */
async function handOver(take: (turn: number) => Promise<() => Promise<void>>): Promise<number[]> {
  const times: number[] = []
  let giveUp = await take(0)
  for (let turn = 1; turn <= HAND_OVERS; turn++) {
    const next = take(turn)
    await new Promise((resolve) => setTimeout(resolve, 15))
    const start = performance.now()
    const released = giveUp()
    giveUp = await next
    times.push(performance.now() - start)
    await released
  }
  await giveUp()
  return times
}

function row(name: string, times: readonly number[]): string[] {
  return [name, quantile(times, 0.5).toFixed(1), quantile(times, 0.99).toFixed(1)]
}

function lockedFile(directory: string): string {
  const path = join(directory, 'locked')
  writeFileSync(path, '', { flag: 'a' })
  return path
}
