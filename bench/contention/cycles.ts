/** Acquire and release without contention: keys that are free, one at a time and many in parallel. */
import { createLeases, type LeaseStore } from '../../src/core/index.ts'
import { type Contender, compareRates, printTable, rateTable } from '../measure.ts'
import { openVerrou } from './verrou.ts'

export const TTL_MS = 30_000
const KEYS = 64

export type Closable = Contender & { close(): unknown }
/** Acquires and releases one key. */
export type Cycle = (key: string) => Promise<unknown>

/** `baseline`: the name of the contender to which the others are compared. */
export async function compareCycles(
  title: string,
  contenders: readonly Contender[],
  baseline: string,
  rounds: { readonly rounds: number; readonly roundMs?: number },
): Promise<void> {
  for (const parallel of [1, KEYS]) {
    const rates = await compareRates(contenders, { parallel, ...rounds })
    const how = parallel === 1 ? 'one after the other' : `${parallel} keys in parallel`
    printTable(`${title}, acquire + release, ${how}`, rateTable(rates, baseline))
  }
}

/** Takes the keys in turn, so that no key is asked for while it is held. */
export function contender(name: string, cycle: Cycle, close: () => unknown = () => {}): Closable {
  const free = Array.from({ length: KEYS }, (_, n) => `invoice:${n}`)
  const run = async () => {
    const key = free.shift() ?? ''
    await cycle(key)
    free.push(key)
  }
  return { name, run, close }
}

export function throughPort(store: LeaseStore, closeClient?: () => unknown): Closable {
  const cycle: Cycle = async (resource) => {
    const id = crypto.randomUUID()
    const { granted } = await store.acquire({ resource, id, owner: 'bench', ttl: TTL_MS, lost: () => {} })
    expectOne(Number(granted))
    const { ended } = await store.release({ resource, id })
    expectOne(ended && 1)
  }
  return contender('store.acquire, store.release', cycle, async () => {
    await store.close()
    await closeClient?.()
  })
}

export function throughManager(store: LeaseStore, closeClient?: () => unknown): Closable {
  const leases = createLeases(store)
  const cycle: Cycle = async (resource) => {
    const lease = await leases.tryAcquire(resource)
    expectOne(lease && 1)
    await lease?.release()
  }
  return contender('leases.tryAcquire, lease.release', cycle, async () => {
    await leases.close()
    await store.close()
    await closeClient?.()
  })
}

/** The peer for databases; empty if it is not installed. */
export async function verrouCycles(knexOptions: object): Promise<Closable[]> {
  const locks = await openVerrou(knexOptions)
  if (!locks) return []
  const cycle: Cycle = async (key) => {
    const lock = locks.createLock(key, TTL_MS)
    expectOne(Number(await lock.acquireImmediately()))
    await lock.release()
  }
  return [contender('verrou', cycle, () => locks.close())]
}

export function expectOne(count: unknown): void {
  if (count !== 1) throw new Error('not granted or not released')
}
