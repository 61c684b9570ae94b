/** Semaphores and readers: several callers hold one resource together. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createLeases, type LeaseStore } from '../../src/core/index.ts'
import { printTable, quantile, spreadOf } from '../measure.ts'
import { HOLD_MS, now } from './rival.ts'

const CALLERS = 50
export const PERMITS = 5
export const READERS = 100

/** One way of sharing a resource. */
export interface SharingRival {
  /** Takes the resource alone, or all permits. It resolves with the release. */
  hold(): Promise<() => Promise<unknown>>
  /** Waits for one of the permits, or for a place among the readers. `place` is the caller's number. */
  share(place: number, permits: number, onWaiting: () => void): Promise<() => Promise<unknown>>
  /** Calls to the server so far; `null` where they are not counted. */
  readonly calls: number | null
  /** It has permits, but no readers. */
  readonly hasNoReaders?: boolean
  close(): Promise<unknown>
}

interface Turn {
  readonly place: number
  readonly granted: number
  readonly released: number
}

/** A rival that is not installed is left out. */
export async function compareSharing(
  title: string,
  openers: Readonly<Record<string, () => Promise<SharingRival | undefined>>>,
  rounds = 7,
): Promise<void> {
  const drains: Record<string, Awaited<ReturnType<typeof drain>>[]> = {}
  const wakes: Record<string, number[]> = {}
  for (let round = 0; round < rounds; round++)
    for (const [name, open] of Object.entries(openers)) {
      const rival = await open()
      if (!rival) continue
      const drained = await drain(rival)
      const woken = rival.hasNoReaders ? undefined : await wakeReaders(rival)
      await rival.close()
      // The first round warms up.
      if (round === 0) continue
      drains[name] = [...(drains[name] ?? []), drained]
      if (woken !== undefined) wakes[name] = [...(wakes[name] ?? []), woken]
    }
  printTable(
    `${title}, ${CALLERS} callers on ${PERMITS} permits, ${HOLD_MS} ms hold; handoff from release call to grant`,
    [
      ['', 'drain ms', 'spread', 'p50 ms', 'p99 ms', 'calls each', 'out of order'],
      ...Object.entries(drains).map(([name, rounds]) => {
        const handoffs = rounds.flatMap((round) => round.handoffs)
        const times = rounds.map((round) => round.ms)
        const outOfOrder = rounds.reduce((sum, round) => sum + round.outOfOrder, 0)
        return [
          name,
          quantile(times, 0.5).toFixed(0),
          spreadOf(times, 0),
          quantile(handoffs, 0.5).toFixed(2),
          quantile(handoffs, 0.99).toFixed(2),
          rounds[0]?.callsEach?.toFixed(2) ?? '',
          String(outOfOrder),
        ]
      }),
    ],
  )
  printTable(`${title}, from the writer's release call to the last of ${READERS} readers`, [
    ['', 'p50 ms', 'spread'],
    ...Object.entries(wakes).map(([name, ms]) => [name, quantile(ms, 0.5).toFixed(1), spreadOf(ms, 1)]),
  ])
}

/** All callers stand in line, then the resource is given up. */
async function drain(rival: SharingRival) {
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
    handoffs: turns.slice(PERMITS).map(({ granted }, n) => granted - (ends[n] ?? start)),
    callsEach: calls === null || rival.calls === null ? null : (rival.calls - calls) / CALLERS,
    // Callers that hold together may see their answers in any order.
    outOfOrder: turns.filter(({ place }, n) => Math.abs(place - n) >= PERMITS).length,
  }
}

/** How long it takes until the last reader has its lease. */
async function wakeReaders(rival: SharingRival): Promise<number> {
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

/** Our own leases on a store. */
export function sharedLeases(
  store: LeaseStore,
  calls: () => number,
  close: () => Promise<unknown>,
): SharingRival {
  const waiting = new Map<string, () => void>()
  const leases = createLeases(store, {
    onEvent: (event) => {
      if (event.type === 'waiting') waiting.get(event.owner)?.()
    },
  })
  return {
    get calls() {
      return calls()
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
      await close()
    },
  }
}
