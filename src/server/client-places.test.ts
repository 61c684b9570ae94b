import { expect, it } from 'vitest'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock, settled } from '../testing/fake-clock.ts'
import { ClientPlaces } from './client-places.ts'
import { WaiterLimits } from './waiter-limits.ts'

it('a client that asks while the nodes look for it keeps its place', async () => {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const { promise: found, resolve } = Promise.withResolvers<ReadonlyMap<string, number>>()
  const places = new ClientPlaces({
    store,
    channels: { occupied: () => found },
    limits: new WaiterLimits({ maxWaiters: 10, maxWaitersOfAddress: 10 }),
    clock,
    onError: (_, error) => expect.unreachable(String(error)),
  })
  const ask = { resource: 'job', owner: 'worker', ttl: 60_000 }
  const sender = { client: 'tab', address: undefined }
  const waiting = async () => (await store.waiting?.({ resources: ['job'], limit: 0 }))?.[0]?.count
  await store.acquire({ ...ask, id: 'holder' })
  await places.acquire({ ...ask, id: 'next', wake: () => {} }, sender)
  places.called('tab')
  await clock.advance(1000)
  await places.acquire({ ...ask, id: 'next', wake: () => {} }, sender)
  resolve(new Map())
  await settled()
  expect(await waiting()).toBe(1)
  places.called('tab')
  await clock.advance(1000)
  expect(await waiting()).toBe(0)
})
