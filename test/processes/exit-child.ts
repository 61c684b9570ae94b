/**
 * A process that does one thing with a store, says `done`, and ends when nothing keeps it alive. `argv`: the address of
 * the store, a resource, and what it does.
 */

import { createLeases } from '../../src/core/index.ts'
import { ALIVE_EXIT_CODE } from '../../src/testing/node/lifetime-limits.ts'
import { ALIVE_LIMIT_MS } from '../../src/testing/options.ts'
import { openStore } from './open-store.ts'

const [, , address = '', resource = '', what = ''] = process.argv
const { store, close, closeClient } = await openStore(address)

/** Resolves after the first heartbeat: by then the store listens to what becomes of the lease. */
async function hold(): Promise<void> {
  const { promise: renewed, resolve } = Promise.withResolvers<void>()
  const leases = createLeases(store, {
    ttl: '10m',
    heartbeat: '1s',
    onEvent: ({ type }) => type === 'renewed' && resolve(),
  })
  await leases.acquire(resource)
  // A heartbeat keeps no process alive.
  const timer = setInterval(() => {}, 1000)
  await renewed
  clearInterval(timer)
}

const STEPS: Readonly<Record<string, () => Promise<unknown>>> = {
  'holds a lease': hold,
  'holds a lease and closes its client': async () => {
    await hold()
    await closeClient?.()
  },
  'holds a lease and closes its store': async () => {
    await hold()
    await store.close()
  },
  'stops during an acquire': async () => {
    const leases = createLeases(store, { ttl: '10m' })
    const acquiring = leases.acquire(resource).catch(() => {})
    await Promise.all([leases.close(), close()])
    await acquiring
  },
}

await STEPS[what]?.()
console.log('done')
setTimeout(() => {
  console.log(process.getActiveResourcesInfo().join(', '))
  process.exit(ALIVE_EXIT_CODE)
}, ALIVE_LIMIT_MS).unref()
