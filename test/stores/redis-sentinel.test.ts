import type { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { SentinelGroup } from '../../scripts/services/index.ts'
import type { Leases } from '../../src/core/index.ts'
import { holdfast } from '../cli/holdfast.ts'
import { startServe } from '../cli/server.ts'
import { blocksOfPage } from '../docs/blocks.ts'
import { HANG_MS } from '../hang-limit.ts'
import { importExample } from '../server/docs-example.ts'
import { browserAt } from '../server/node-client.ts'

interface Example {
  readonly client: Redis
  readonly leases: Leases
}

/** The example of docs/stores/redis.md, with the one sentinel that runs. */
async function openExample(group: SentinelGroup) {
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
  await using group = await SentinelGroup.start()
  await using ours = await openExample(group)
  await using theirs = await openExample(group)
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

it('serve and the command line find the primary through sentinels, also after a failover', async () => {
  await using group = await SentinelGroup.start()
  const address = `redis+sentinel://127.0.0.1:${group.sentinelPort}/mymaster?prefix=served`
  const { url } = await startServe(address, '--ttl', '10m')
  const browser = browserAt(url)
  const { status, body } = await browser.call('POST', '/api/documents/draft/lock')
  expect(status).toBe(200)
  await group.waitForReplica()

  await group.killPrimary()
  const save = { content: 'text', token: body.token }
  await expect.poll(async () => (await browser.call('PUT', '/api/documents/draft', save)).status).toBe(200)
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
  expect(await holdfast(['ls', '--store', address, '--json'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"document:draft"'),
  })

  const wrong = await holdfast(['ls', '--store', address.replace('mymaster', 'other')])
  expect(wrong).toMatchObject({ code: 70, stderr: expect.stringContaining('No such master with that name') })
})
