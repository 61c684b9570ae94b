import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, it } from 'vitest'
import { type Answer, createLeases, type LeaseStore } from '../../../src/core/index.ts'
import { type IoRedis, redisStore } from '../../../src/stores/redis/index.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { cuttableProxy } from '../../../src/testing/node/cuttable-proxy.ts'
import { asking, granted } from '../asking.ts'
import { clientNames, freshPrefix, HOLDFAST_TEST_REDIS_URL, openStore } from './clients.ts'
import { timedClient } from './timed-client.ts'

const SERVER = new URL(HOLDFAST_TEST_REDIS_URL)
const admin = new Redis(HOLDFAST_TEST_REDIS_URL)
afterAll(() => admin.disconnect())

async function enqueue(store: LeaseStore, resource: string) {
  const wakes: number[] = []
  const ask = asking(resource, { wake: (inMs) => wakes.push(inMs) })
  const answer = await store.acquire(ask)
  expect(answer.granted).toBe(false)
  return { ask, wakes }
}

it('a release reads the leases of others only if it ended none itself', async () => {
  await using opened = await openStore()
  const { store } = opened
  const [mine] = [
    await store.acquire(asking('r', { share: 2 })),
    await store.acquire(asking('r', { share: 2 })),
  ]
  const { id } = granted(mine as Answer)
  const { holders } = await store.release({ resource: 'r', id: 'nobody' })
  expect(holders).toHaveLength(2)
  expect(await store.release({ resource: 'r', id })).toMatchObject({ ended: { id }, holders: [] })
})

describe.each(clientNames)('the queue on %s', (client) => {
  it('skips all waiters of a dead process at once', async () => {
    await using live = await openStore({ client })
    await using proxy = await cuttableProxy(SERVER.hostname, Number(SERVER.port))
    await using dead = await openStore({ client, url: `redis://${proxy.address}`, prefix: live.prefix })
    const holder = granted(await live.store.acquire(asking('r')))
    for (let n = 0; n < 3; n++) await enqueue(dead.store, 'r')
    const next = await enqueue(live.store, 'r')
    const queueOf = async (limit: number) => (await live.store.waiting?.({ resources: ['r'], limit }))?.[0]
    expect(await queueOf(0)).toEqual({ count: 4, first: [] })
    proxy.cut()
    await subscriberGone(dead.name)
    const { id, owner } = next.ask
    expect(await queueOf(9)).toEqual({ count: 1, first: [{ id, owner, share: null, place: 0 }] })
    await live.store.release({ resource: 'r', id: holder.id })
    await expect.poll(() => next.wakes).toHaveLength(1)
    // Behind a waiter that may be alive, it would be told to ask in a second.
    expect(next.wakes).toEqual([0])
    granted(await live.store.acquire(next.ask))
    const answer = await live.store.acquire(asking('r', { wake: () => {} }))
    expect(answer).toMatchObject({ granted: false, place: 0 })
  })

  it('skips all waiters of a process that does not answer within a second', async () => {
    await using live = await openStore({ client })
    await using stuck = await openStore({ client, prefix: live.prefix })
    const holder = granted(await live.store.acquire(asking('r')))
    const absent = [await enqueue(stuck.store, 'r'), await enqueue(stuck.store, 'r')]
    const next = await enqueue(live.store, 'r')
    const released = performance.now()
    await live.store.release({ resource: 'r', id: holder.id })
    await expect.poll(() => next.wakes).toEqual([1000])
    const early = await live.store.acquire(next.ask)
    const took = performance.now() - released
    expect(early.granted && took < 1000).toBe(false)
    await sleep(1100)
    granted(await live.store.acquire(next.ask))
    await expect.poll(() => absent.map(({ wakes }) => wakes)).toEqual([[0, 0], [0]])
    const back = absent.map(({ ask }) => stuck.store.acquire(ask))
    expect(await Promise.all(back)).toMatchObject([{ place: 0 }, { place: 1 }])
  })

  it('tells a holder at once that another process ended its lease', async () => {
    await using own = await openStore({ client })
    await using peer = await openStore({ client, prefix: own.prefix })
    const changed: string[] = []
    await using _watch = await own.store.watch((event) => {
      if (event.type === 'change') changed.push(event.lease.resource)
    })
    const lost: string[] = []
    const hold = (resource: string) =>
      own.store.acquire(asking(resource, { lost: () => lost.push(resource) }))
    const forced = granted(await hold('forced'))
    const taken = granted(await hold('taken'))
    const released = granted(await hold('released'))
    await peer.store.release({ resource: 'forced', token: forced.token })
    await peer.store.acquire(asking('taken', { replace: taken.token }))
    await peer.store.release({ resource: 'released', id: released.id })
    // This message comes on the same connection, after the losses.
    granted(await peer.store.acquire(asking('later')))
    await expect.poll(() => changed).toContain('later')
    expect(lost).toEqual(['forced', 'taken', 'released'])
  })

  it('makes up for messages that were missed while the connection was broken', async () => {
    await using own = await openStore({ client })
    await using peer = await openStore({ client, prefix: own.prefix })
    let lost = 0
    const held = granted(await own.store.acquire(asking('held', { lost: () => lost++ })))
    const other = granted(await peer.store.acquire(asking('other')))
    const waiter = await enqueue(own.store, 'other')
    await admin.client('KILL', 'ID', await subscriberId(own.name))
    await peer.store.release({ resource: 'held', token: held.token })
    await peer.store.release({ resource: 'other', id: other.id })
    await expect.poll(() => [waiter.wakes.includes(0), lost]).toEqual([true, 1])
    granted(await own.store.acquire(waiter.ask))
  })
})

it('an acquisition under contention takes three operations, first in, first out', async () => {
  const prefix = freshPrefix()
  // It stands still: no reservation ends, and no timer repeats a request.
  const clock = new FakeClock()
  let operations = 0
  const open = async () => {
    const { client, close } = timedClient(HOLDFAST_TEST_REDIS_URL, clock)
    const counted: IoRedis = {
      ...client,
      eval(script, keys, ...args) {
        operations += args.filter((arg) => ['acquire', 'release', 'end'].includes(arg)).length
        return client.eval(script, keys, ...args)
      },
    }
    const store = redisStore(counted, { prefix })
    // Opens the connection that listens.
    await store.watch(() => {})
    return { store, leases: createLeases(store, { clock }), close }
  }
  const processes = [await open(), await open()] as const
  const [first] = processes
  const held = await first.leases.acquire('r')
  operations = 0
  const order: number[] = []
  const waiters = Array.from({ length: 20 }, async (_, n) => {
    const lease = await processes[n % 2]?.leases.acquire('r')
    order.push(n)
    await lease?.release()
  })
  await expect.poll(() => operations).toBe(20)
  await held.release()
  await Promise.all(waiters)
  expect(operations).toBe(20 * 3 + 1)
  for (const parity of [0, 1]) {
    const served = order.filter((n) => n % 2 === parity)
    expect(served).toEqual(served.toSorted((a, b) => a - b))
  }
  for (const { store, leases, close } of processes) {
    await leases.close()
    await store.close()
    close()
  }
})

async function subscriberId(name: string): Promise<string> {
  const list = String(await admin.call('CLIENT', 'LIST', 'TYPE', 'pubsub'))
  const line = list.split('\n').find((entry) => entry.includes(`name=${name} `))
  return line?.match(/id=(\d+)/)?.[1] ?? ''
}

async function subscriberGone(name: string): Promise<void> {
  await expect.poll(() => subscriberId(name)).toBe('')
}
