import { expect, it } from 'vitest'
import { createLeases } from '../../src/core/index.ts'
import { setUp } from './set-up.ts'

/** Permits of a process that has died. The first ends after 400 ms, and each of the others `stepMs` later. */
async function withDeadHolders(count: number, stepMs: number, more: (n: number) => object = () => ({})) {
  const { clock, store } = setUp()
  const ids = Array.from({ length: count }, (_, n) => `dead ${n}`)
  for (const [n, id] of ids.entries())
    await store.acquire({ resource: 'r', id, owner: 'dead', ttl: 400 + n * stepMs, share: count, ...more(n) })
  const started = clock.monotonic()
  const leases = createLeases(store, { clock })
  /** When each of them was granted its permit, in milliseconds from now. */
  const waiting = (waiters: number, wait = 10_000) =>
    Array.from({ length: waiters }, async () => {
      await leases.acquire('r', { share: count, wait, ttl: '1h' })
      return Math.round(clock.monotonic() - started)
    })
  return { clock, store, leases, ids, waiting }
}

it('five permits that expire 100 ms apart are used at once', async () => {
  const { clock, waiting } = await withDeadHolders(5, 100)
  const granted = Promise.all(waiting(5))
  await clock.advance(3000)
  expect(await granted).toEqual([400, 500, 600, 700, 800])
})

it('the permits of a crashed process are used by waiters that wait for less than a second', async () => {
  const { clock, waiting } = await withDeadHolders(5, 10)
  const granted = Promise.all(waiting(5, 500))
  await clock.advance(3000)
  expect(await granted).toEqual([400, 410, 420, 430, 440])
})

it('permits that expire are used at once after another one was released', async () => {
  const { clock, store, ids, waiting } = await withDeadHolders(4, 100)
  const granted = Promise.all(waiting(4))
  await clock.advance(50)
  await store.release({ resource: 'r', id: ids[3] ?? '' })
  await clock.advance(3000)
  expect(await granted).toEqual([50, 400, 500, 600])
})

it('permits that expire are used at once after the first waiters have given up', async () => {
  const { clock, waiting } = await withDeadHolders(3, 100)
  const given = waiting(2, 50).map((waiter) => waiter.catch((error) => error.code))
  const granted = Promise.all(waiting(3))
  await clock.advance(3000)
  expect(await Promise.all(given)).toEqual(['lease-held', 'lease-held'])
  expect(await granted).toEqual([400, 500, 600])
})

it('permits that were released and are kept for a while are used at once when they are kept no longer', async () => {
  const { clock, store, ids, waiting } = await withDeadHolders(3, 0, (n) => ({
    ttl: 60_000,
    atLeast: 300 + n * 100,
  }))
  const granted = Promise.all(waiting(3))
  for (const id of ids) {
    await clock.advance(20)
    await store.release({ resource: 'r', id })
  }
  await clock.advance(3000)
  expect(await granted).toEqual([300, 400, 500])
})

it('a lease that expires is taken at once after the first waiter has given up', async () => {
  const { clock, store, leases } = await withDeadHolders(0, 0)
  await store.acquire({ resource: 'one', id: 'dead', owner: 'dead', ttl: 400 })
  const started = clock.monotonic()
  const given = leases.acquire('one', { wait: 50 }).catch((error) => error.code)
  const granted = leases.acquire('one').then(() => Math.round(clock.monotonic() - started))
  await clock.advance(3000)
  expect([await given, await granted]).toEqual(['lease-held', 400])
})
