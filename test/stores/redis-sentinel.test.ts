import type { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Leases } from '../../src/core/index.ts'
import { blocksOfPage } from '../docs/blocks.ts'
import { HANG_MS } from '../hang-limit.ts'
import { importExample } from '../server/docs-example.ts'
import { SentinelGroup } from './redis/sentinel.ts'

interface Example {
  readonly client: Redis
  readonly leases: Leases
}

let group: SentinelGroup
beforeAll(async () => {
  group = await SentinelGroup.start()
})
afterAll(() => group[Symbol.asyncDispose]())

/** The example of docs/stores/redis.md, with the one sentinel that runs. */
async function openExample() {
  const example = blocksOfPage('docs/stores/redis.md').find(({ code }) => code.includes('sentinels:'))
  const address = `host: '127.0.0.1', port: ${group.sentinelPort}`
  const code = example?.code.replaceAll(/host: 'sentinel-\w', port: 26379/g, address) ?? ''
  const { client, leases } = await importExample<Example>(code)
  const close = async () => {
    await leases.close()
    client.disconnect()
  }
  return { client, leases, [Symbol.asyncDispose]: close }
}

it('after a failover leases work again, and only a grant that had not reached the replica is forgotten', async () => {
  await using ours = await openExample()
  await using theirs = await openExample()
  const kept = await ours.leases.acquire('kept', { ttl: HANG_MS })
  expect(await ours.client.wait(1, HANG_MS)).toBe(1)
  await group.stopReplication()
  const forgotten = await ours.leases.acquire('forgotten', { ttl: HANG_MS })
  expect(await theirs.leases.tryAcquire('forgotten')).toBeNull()
  // The connection that listens is open, and must move to the new primary.
  await expect.poll(() => ours.client.pubsub('CHANNELS')).not.toEqual([])
  const lost = new Promise((resolve) => forgotten.signal.addEventListener('abort', resolve))

  await group.killPrimary()
  const second = await theirs.leases.acquire('forgotten', { wait: HANG_MS })
  expect(second.token).toBeGreaterThan(forgotten.token)
  await lost

  expect(await theirs.leases.tryAcquire('kept')).toBeNull()
  expect(kept.signal.aborted).toBe(false)
  await kept.renew()
  await kept.release()
  const next = await theirs.leases.acquire('kept')
  expect(next.token).toBeGreaterThan(kept.token)
})
