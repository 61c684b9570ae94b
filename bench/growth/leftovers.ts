import { createLeases } from '../../src/core/index.ts'
import { now } from '../contention/rival.ts'
import { openStore } from './open-store.ts'

const PARALLEL = 100

/** Takes and releases many resources once. Resolves with the row of a table: what that took, and what remains. */
export async function leaveBehind(
  name: string,
  address: string,
  resources: number,
  remains: () => Promise<string[]>,
): Promise<string[]> {
  const { store, close } = await openStore(address)
  const leases = createLeases(store)
  const start = now()
  let next = 0
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      while (next < resources) await leases.withLease(`left:${next++}`, async () => {})
    }),
  )
  const seconds = (now() - start) / 1000
  await leases.close()
  const found = await remains()
  await close()
  return [name, seconds.toFixed(0), ...found]
}
