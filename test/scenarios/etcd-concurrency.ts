/**
 * The scenarios of the tests of etcd's `client/v3/concurrency`: sessions, mutexes and elections.
 *
 * Different here: a session is a manager with the leases that it has acquired. There is no software transactional memory.
 * etcd's `Unlock` of a mutex that is not locked is an error; our release of a lease that has ended does nothing.
 */
import { expect } from 'vitest'
import type { WatchEvent } from '../../src/core/index.ts'
import { eventually } from '../eventually.ts'
import type { Scenario } from './scenario.ts'

export const etcdConcurrency: readonly Scenario[] = [
  {
    title: 'a waiter whose session is closed ends with an error, and does not get the mutex later',
    async run({ client, resource }) {
      const [first, second, third] = [await client(), await client(), await client()]
      const mutex = await first.acquire(resource)
      const waiting = new Promise<void>((resolve) => {
        second.subscribe(({ type }) => type === 'waiting' && resolve())
      })
      const refused = expect(second.acquire(resource)).rejects.toMatchObject({ code: 'closed' })
      await waiting
      await second.close()
      await refused
      await mutex.release()
      expect((await third.acquire(resource)).held).toBe(true)
    },
  },
  {
    title: 'a try fails at once while another session has the mutex, and works after its release',
    async run({ client, resource }) {
      const [first, second] = [await client(), await client()]
      const mutex = await first.tryAcquire(resource)
      expect(mutex?.held).toBe(true)
      expect(await second.tryAcquire(resource)).toBeNull()
      await mutex?.release()
      expect((await second.acquire(resource)).held).toBe(true)
    },
  },
  {
    title: 'the end of a session releases its mutexes and aborts their signals',
    async run({ client, resource }) {
      const [first, second] = [await client(), await client()]
      const mutexes = [await first.acquire(resource), await first.acquire(`${resource}:2`)]
      const closing = first.close()
      expect(mutexes.map(({ signal }) => signal.aborted)).toEqual([true, true])
      await closing
      expect(await second.tryAcquire(resource)).not.toBeNull()
      expect(await second.tryAcquire(`${resource}:2`)).not.toBeNull()
    },
  },
  {
    title: 'a session has the TTL that it was given, and not the default',
    async run({ client, resource }) {
      const session = await client({ ttl: 90_000 })
      const lease = await session.acquire(resource)
      const { acquiredAt = 0, expiresAt } = (await session.inspect(resource)) ?? {}
      // Some backends count in seconds.
      expect(((expiresAt ?? 0) - acquiredAt) / 1000).toBeCloseTo(90, -1)
      expect(lease.held).toBe(true)
    },
  },
  {
    title: 'an orphaned session keeps its mutex until the TTL is over',
    isTimed: true,
    async run({ client, resource, shortMs }) {
      const [first, second] = [await client({ ttl: 2 * shortMs }), await client()]
      const mutex = await first.acquire(resource)
      const ticket = await mutex.detach()
      await first.close()
      const next = await second.acquire(resource)
      expect(next.token).toBeGreaterThan(ticket.token)
    },
  },
  {
    title: 'a session without an owner is taken over with its ticket',
    async run({ client, resource }) {
      const [first, second] = [await client(), await client()]
      const mutex = await first.acquire(resource)
      const { token } = mutex
      const resumed = await second.adopt(await mutex.detach())
      expect([mutex.held, resumed.held, resumed.token]).toEqual([false, true, token])
      await resumed.release()
      expect(await first.tryAcquire(resource)).not.toBeNull()
    },
  },
  {
    title: 'waiters get the mutex in the order in which they came',
    needs: 'queue',
    // A waiter that is late by a second loses its place.
    isTimed: true,
    async run({ client, resource }) {
      const [first, second] = [await client(), await client()]
      const mutex = await first.acquire(resource)
      const order: number[] = []
      const waiters: Promise<void>[] = []
      for (const [n, session] of [second, first, second, first].entries()) {
        waiters.push(session.withLease(resource, async () => void order.push(n)))
        await eventually(async () => expect(await first.waiting(resource)).toHaveLength(n + 1))
      }
      await mutex.release()
      await Promise.all(waiters)
      expect(order).toEqual([0, 1, 2, 3])
    },
  },
  {
    title: 'a candidate wins, resigns, and the next one is seen as the leader',
    async run({ client, resource }) {
      const [first, second] = [await client({ owner: 'candidate 1' }), await client({ owner: 'candidate 2' })]
      const leader = await first.acquire(resource, { metadata: { address: 'a' } })
      expect(await second.inspect(resource)).toMatchObject({
        owner: 'candidate 1',
        metadata: { address: 'a' },
      })
      const next = second.acquire(resource)
      await leader.release()
      await next
      expect(await first.inspect(resource)).toMatchObject({ owner: 'candidate 2' })
    },
  },
  {
    title: 'an observer hears of each leader in order, and of no other election',
    needs: 'push',
    async run({ client, resource }) {
      const [session, observer] = [await client(), await client()]
      const heard: WatchEvent[] = []
      await using _watch = await observer.watch({ prefix: resource }, (event) => heard.push(event))
      const tokens: number[] = []
      for (const name of [resource, `other:${resource}`, resource]) {
        const lease = await session.acquire(name)
        if (name === resource) tokens.push(lease.token)
        await lease.release()
      }
      await eventually(() => {
        const leaders = heard.flatMap(({ type, lease }) => (lease && type === 'granted' ? lease.token : []))
        const isGap = heard.some(({ type }) => type === 'gap')
        expect(isGap ? tokens : [...new Set(leaders)]).toEqual(tokens)
        expect(heard.every(({ lease }) => !lease || lease.resource === resource)).toBe(true)
      })
    },
  },
  {
    title: 'a leader works until it resigns, and a new one follows a leader that dies',
    isTimed: true,
    async run({ client, resource, shortMs }) {
      const [dead, alive] = [await client({ ttl: shortMs }), await client()]
      await dead.acquire(resource)
      const led = alive.lead(resource, async (lease) => lease.token)
      expect(await led).toBeGreaterThan(0)
    },
  },
]
