/**
 * Those who wait: how late they are served after five permits of a dead process have expired 100 ms apart, whether 100
 * calls of one turn of the event loop are served in their order, and queues of thousands.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServerName, startServer } from '../scripts/services/index.ts'
import { createLeases, type LeaseStore } from '../src/core/index.ts'
import { openStore } from './growth/open-store.ts'
import { benchQueues } from './growth/queues.ts'
import { startHoldfast } from './holdfast-server.ts'
import { printTable } from './measure.ts'
import type { BenchFlags } from './run.ts'

const PERMITS = 5
const FIRST_TTL_MS = 2000
const STEP_MS = 100
const CALLS = 100

interface Place {
  readonly address: string
  stop(): Promise<void>
}

const onServer = (name: ServerName) => async (): Promise<Place> => startServer(name)
const inFolder = (kind: string, file: string) => async (): Promise<Place> => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-waiters-'))
  return {
    address: `${kind}:${join(folder, file)}`,
    stop: async () => rmSync(folder, { recursive: true }),
  }
}

const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  memory: async () => ({ address: 'memory:', stop: async () => {} }),
  sqlite: inFolder('sqlite', 'leases.db'),
  file: inFolder('file', ''),
  redis: onServer('redis'),
  postgres: onServer('postgres'),
  mysql: onServer('mysql'),
  etcd: onServer('etcd'),
  nats: onServer('nats'),
  async http() {
    const { url, stop } = await startHoldfast()
    return { address: url, stop }
  },
}

export async function run({ stores, most = '5000' }: BenchFlags): Promise<void> {
  const lateness: string[][] = []
  const order: string[][] = []
  for (const name of stores?.split(',') ?? Object.keys(PLACES)) {
    const place = await PLACES[name]?.()
    if (!place) throw new Error(`no store ${name}; there are ${Object.keys(PLACES).join(', ')}`)
    try {
      const { store, close } = await openStore(place.address)
      lateness.push([name, ...(await latenessOf(store))])
      order.push([name, ...(await displacedIn(store))])
      await close()
      const isLong = store.supports.queue && Number(most) > 0
      if (isLong) await benchQueues(name, place.address, [Number(most)], name === 'memory' ? [1] : [1, 5])
    } finally {
      await place.stop()
    }
  }
  const permits = Array.from({ length: PERMITS }, (_, n) => `permit ${n + 1}`)
  printTable('ms from the expiry of a permit, by the clock of the store, to its next grant', [
    ['', ...permits],
    ...lateness,
  ])
  printTable(`${CALLS} calls at once for one lease`, [['', 'served in another place', 'ms'], ...order])
}

/** The holders are dead. The times of both are those of the store, so the clocks of others do not matter. */
async function latenessOf(store: LeaseStore): Promise<string[]> {
  const resource = 'permits'
  const expiries: number[] = []
  for (let n = 0; n < PERMITS; n++) {
    const ttl = FIRST_TTL_MS + n * STEP_MS
    const ask = { resource, id: `dead ${n}`, owner: 'dead', ttl, share: PERMITS }
    const answer = await store.acquire(ask)
    if (!answer.granted) throw new Error(`${store.kind}: permit ${n} is not free`)
    expiries.push(answer.lease.expiresAt ?? 0)
  }
  const leases = createLeases(store, { ttl: '1m' })
  const acquire = () => leases.acquire(resource, { share: PERMITS, wait: '30s' })
  const granted = await Promise.all(Array.from({ length: PERMITS }, acquire))
  const times = granted.map(({ acquiredAt }) => acquiredAt).sort((a, b) => a - b)
  await leases.close()
  return times.map((time, n) => (time - (expiries[n] ?? 0)).toFixed(0))
}

async function displacedIn(store: LeaseStore): Promise<string[]> {
  const leases = createLeases(store, { ttl: '10m' })
  const holder = await leases.acquire('at once')
  const start = performance.now()
  const served: number[] = []
  const calls = Array.from({ length: CALLS }, async (_, n) => {
    const lease = await leases.acquire('at once', { wait: Infinity })
    served.push(n)
    await lease.release()
  })
  await holder.release()
  await Promise.all(calls)
  const took = performance.now() - start
  await leases.close()
  return [String(served.filter((call, n) => call !== n).length), took.toFixed(0)]
}
