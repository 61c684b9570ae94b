import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Server } from '../../scripts/services/index.ts'
import { createLeases, type LeaseStore } from '../../src/core/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { HOLD_MS, now } from '../contention/rival.ts'
import { printTable, quantile } from '../measure.ts'
import { countCalls } from './rivals.ts'

const CALLERS = 50
const PERMITS = 5
const READERS = 100
const ROUNDS = 7

/** One way of sharing a resource. */
interface Rival {
  /** Takes the resource alone. It resolves with the release. */
  hold(): Promise<() => Promise<unknown>>
  /** Waits for one of the permits, or for a place among the readers. `place` is the caller's number. */
  share(place: number, permits: number, onWaiting: () => void): Promise<() => Promise<unknown>>
  readonly calls: number | null
  close(): Promise<unknown>
}

interface Turn {
  readonly place: number
  readonly granted: number
  readonly released: number
}

/** Semaphores and readers beside advisory locks, which need a connection for each caller. */
export async function benchShared(server: Server): Promise<void> {
  const admin = new pg.Client(server.address)
  await admin.connect()
  await admin.query(`alter system set max_connections = ${READERS + 50}`)
  await admin.end()
  await server.restart()
  const url = server.address
  const openers: Record<string, () => Promise<Rival>> = {
    leases: () => openLeases(url),
    'advisory locks': () => openAdvisoryLocks(url),
  }
  const drains: Record<string, Awaited<ReturnType<typeof drain>>[]> = {}
  const wakes: Record<string, number[]> = {}
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, open] of Object.entries(openers)) {
      const rival = await open()
      const drained = await drain(rival)
      const woken = await wakeReaders(rival)
      await rival.close()
      // The first round warms up.
      if (round === 0) continue
      drains[name] = [...(drains[name] ?? []), drained]
      wakes[name] = [...(wakes[name] ?? []), woken]
    }
  printTable(
    `Postgres, ${CALLERS} callers on ${PERMITS} permits, ${HOLD_MS} ms hold; hand-over from release call to grant`,
    [
      ['', 'drain ms', 'p50 ms', 'p99 ms', 'calls each', 'out of order'],
      ...Object.entries(drains).map(([name, rounds]) => {
        const handOvers = rounds.flatMap((round) => round.handOvers)
        const times = rounds.map((round) => round.ms)
        const outOfOrder = rounds.reduce((sum, round) => sum + round.outOfOrder, 0)
        return [
          name,
          quantile(times, 0.5).toFixed(0),
          quantile(handOvers, 0.5).toFixed(2),
          quantile(handOvers, 0.99).toFixed(2),
          rounds[0]?.callsEach?.toFixed(2) ?? '',
          String(outOfOrder),
        ]
      }),
    ],
  )
  printTable(`Postgres, from the writer's release call to the last of ${READERS} readers`, [
    ['', 'p50 ms', 'max ms'],
    ...Object.entries(wakes).map(([name, ms]) => [
      name,
      quantile(ms, 0.5).toFixed(1),
      Math.max(...ms).toFixed(1),
    ]),
  ])
}

/** All callers stand in line, then the resource is given up. */
async function drain(rival: Rival) {
  const release = await rival.hold()
  const calls = rival.calls
  const turns: Turn[] = []
  const callers = await inLine(CALLERS, async (place, onWaiting) => {
    const giveUp = await rival.share(place, PERMITS, onWaiting)
    const granted = now()
    await sleep(HOLD_MS)
    const released = now()
    turns.push({ place, granted, released })
    await giveUp()
  })
  const start = now()
  await release()
  await callers()
  turns.sort((a, b) => a.granted - b.granted)
  const ends = turns.map(({ released }) => released).toSorted((a, b) => a - b)
  return {
    ms: (ends.at(-1) ?? 0) - start,
    // A release makes room for the one that is granted next.
    handOvers: turns.slice(PERMITS).map(({ granted }, n) => granted - (ends[n] ?? start)),
    callsEach: calls === null || rival.calls === null ? null : (rival.calls - calls) / CALLERS,
    // Callers that hold together may see their answers in any order.
    outOfOrder: turns.filter(({ place }, n) => Math.abs(place - n) >= PERMITS).length,
  }
}

/** How long it takes until the last reader has its lease. */
async function wakeReaders(rival: Rival): Promise<number> {
  const release = await rival.hold()
  let last = 0
  const readers = await inLine(READERS, async (place, onWaiting) => {
    const giveUp = await rival.share(place, Infinity, onWaiting)
    last = Math.max(last, now())
    return giveUp
  })
  const start = now()
  await release()
  for (const giveUp of await readers()) await giveUp()
  return last - start
}

/** Starts them one after the other. Resolves when all wait; then the function resolves with their results. */
async function inLine<T>(count: number, work: (place: number, onWaiting: () => void) => Promise<T>) {
  const results: Promise<T>[] = []
  for (let place = 0; place < count; place++)
    await new Promise<void>((resolve) => {
      results.push(work(place, resolve))
    })
  return () => Promise.all(results)
}

async function openLeases(url: string): Promise<Rival> {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  const counted = countCalls(postgresStore(pool, { schema: 'holdfast_bench', table: 'shared' }))
  const store: LeaseStore = counted.store
  const waiting = new Map<string, () => void>()
  const leases = createLeases(store, {
    onEvent: (event) => {
      if (event.type === 'waiting') waiting.get(event.owner)?.()
    },
  })
  return {
    get calls() {
      return counted.calls
    },
    async hold() {
      const lease = await leases.acquire('shared')
      return () => lease.release()
    },
    async share(_, share, onWaiting) {
      const owner = crypto.randomUUID()
      waiting.set(owner, onWaiting)
      const lease = await leases.acquire('shared', { owner, share, wait: 60_000 })
      return () => lease.release()
    },
    async close() {
      await leases.close()
      await store.close()
      await pool.end()
    },
  }
}

/** The server hands over by itself. No expiry, no token. There is no semaphore: each permit is a lock of its own. */
async function openAdvisoryLocks(url: string): Promise<Rival> {
  const clients = await Promise.all(
    Array.from({ length: READERS + 1 }, async () => {
      const client = new pg.Client(url)
      await client.connect()
      return client
    }),
  )
  const [holder, ...others] = clients as [pg.Client, ...pg.Client[]]
  return {
    calls: null,
    async hold() {
      for (let permit = 0; permit < PERMITS; permit++)
        await holder.query('select pg_advisory_lock($1)', [permit])
      return () => holder.query('select pg_advisory_unlock_all()')
    },
    async share(place, permits, onWaiting) {
      const client = others[place] as pg.Client
      const [mode, key] = permits === Infinity ? ['_shared', 0] : ['', place % permits]
      const granting = client.query(`select pg_advisory_lock${mode}($1)`, [key])
      onWaiting()
      await granting
      return () => client.query(`select pg_advisory_unlock${mode}($1)`, [key])
    },
    close: () => Promise.all(clients.map((client) => client.end())),
  }
}
