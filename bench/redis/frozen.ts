import { setTimeout as sleep } from 'node:timers/promises'
import { aborted } from 'node:util'
import { Redis } from 'ioredis'
import { createLeases } from '../../src/core/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { now } from '../contention/rival.ts'
import { printTable } from '../measure.ts'
import { openPeers } from './peers.ts'
import type { BenchServer } from './server.ts'

const TTL_MS = 2000
/** Some renewals have gone well by then. */
const BEFORE_MS = 1500

/** When holders learn that their locks are gone while the server does not answer. */
export async function benchFrozen(server: BenchServer): Promise<void> {
  const client = new Redis(server.url)
  client.on('error', () => {})
  const lost = new Map<string, number>()
  let deadline = Infinity
  const store = redisStore(client)
  const leases = createLeases(store, {
    ttl: TTL_MS,
    onEvent: (event) => {
      if (event.type === 'acquired' || event.type === 'renewed') deadline = now() + TTL_MS
    },
  })
  const lease = await leases.acquire('frozen')
  void aborted(lease.signal, lease).then(() => lost.set('leases', now()))
  for (const { name, hold } of await openPeers(client))
    await hold?.(`frozen:${name}`, TTL_MS, () => lost.set(name, now()))
  await sleep(BEFORE_MS)
  const frozen = now()
  server.freeze()
  await sleep(3 * TTL_MS)
  server.thaw()
  await sleep(3 * TTL_MS)
  await leases.close()
  await store.close()
  client.disconnect()
  // Nobody renewed after the freeze, so the others' locks ended not later than this.
  const others = frozen + TTL_MS
  printTable(`Redis, server frozen for ${3 * TTL_MS} ms, TTL ${TTL_MS} ms, renewed every third of it`, [
    ['', 'told after the freeze, ms', 'after the end of the lock, ms'],
    ...[...lost].map(([name, at]) => [
      name,
      (at - frozen).toFixed(0),
      (at - (name === 'leases' ? deadline : others)).toFixed(0),
    ]),
  ])
}
