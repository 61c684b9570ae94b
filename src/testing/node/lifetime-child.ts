/** A process with nothing but a store. `argv`: module, address, resource, TTL, step. */

import { createLeases } from '../../core/index.ts'
import { ALIVE_LIMIT_MS, HANG_MS } from '../options.ts'
import { ALIVE_EXIT_CODE, type LifetimeStep } from './lifetime-limits.ts'
import { openStoreOf } from './store-module.ts'

const [, , module = '', address = '', resource = '', ttl, step] = process.argv
/** On a busy machine the first answer of a server may take longer than a call may usually take. */
const PATIENT = { timeout: HANG_MS }
const ask = { resource, id: crypto.randomUUID(), owner: 'first', ttl: Number(ttl) }

const STEPS: Record<LifetimeStep, () => Promise<void>> = {
  /** Waits until a lease that nobody renews has expired. */
  async acquire() {
    await store.acquire(ask, PATIENT)
    const lease = await createLeases(store, { wait: Number.POSITIVE_INFINITY }).acquire(resource)
    console.log('granted')
    await lease.release()
  },
  /** Closes with a lease, a heartbeat, a waiter and a watch. */
  async close() {
    const leases = createLeases(store, { wait: Number.POSITIVE_INFINITY })
    await leases.acquire(`${resource}-kept`)
    await store.watch(() => {})
    await store.acquire({ ...ask, ttl: 600_000, lost: () => {} }, PATIENT)
    await store.acquire({ ...ask, id: crypto.randomUUID(), wake: () => {} }, PATIENT)
    await leases.close()
  },
}

const { store, close } = await openStoreOf(module, address)
await STEPS[step as LifetimeStep]()
await close()
setTimeout(() => {
  console.log(process.getActiveResourcesInfo().join(', '))
  process.exit(ALIVE_EXIT_CODE)
}, ALIVE_LIMIT_MS).unref()
