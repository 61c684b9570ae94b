/**
 * The scenarios of ShedLock's suites for lock providers: a lock for scheduled tasks, with a longest and a shortest time.
 *
 * Different here: a renewal leaves the handle as it is, so that it may be repeated and the lease released after it, where
 * ShedLock returns a new lock and refuses the old one. A renewal does not change `atLeast`.
 */
import { expect } from 'vitest'
import type { Leases } from '../../src/core/index.ts'
import type { Scenario } from './scenario.ts'

export const shedlock: readonly Scenario[] = [
  {
    title: 'a lock is seen until it is released',
    async run({ client, resource }) {
      const [node, other] = [await client(), await client()]
      const lease = await node.acquire(resource)
      expect(await other.inspect(resource)).toMatchObject({ token: lease.token })
      await lease.release()
      expect(await other.inspect(resource)).toBeNull()
    },
  },
  {
    title: 'while a node has the lock, another does not get it, and neither does the same one',
    async run({ client, resource }) {
      const [node, other] = [await client(), await client()]
      await node.acquire(resource)
      expect(await other.tryAcquire(resource)).toBeNull()
      expect(await node.tryAcquire(resource)).toBeNull()
    },
  },
  {
    title: 'locks with different names do not know of each other',
    async run({ client, resource }) {
      const node = await client()
      const first = await node.tryAcquire(resource)
      const second = await node.tryAcquire(`${resource}:2`)
      expect([first?.held, second?.held]).toEqual([true, true])
    },
  },
  {
    title: 'a released lock can be taken at once, again and again',
    async run({ client, resource }) {
      const [node, other] = [await client(), await client()]
      for (let n = 0; n < 10; n++) {
        const lease = await (n % 2 === 0 ? node : other).tryAcquire(resource)
        expect(lease?.held).toBe(true)
        expect(await node.tryAcquire(resource)).toBeNull()
        await lease?.release()
      }
    },
  },
  {
    title: 'a lock whose node does not release it ends with its longest time',
    isTimed: true,
    async run({ client, resource, shortMs }) {
      const [node, other] = [await client(), await client()]
      const dead = await node.acquire(resource, { ttl: shortMs })
      const next = await other.acquire(resource)
      expect(next.token).toBeGreaterThan(dead.token)
      expect(dead.held).toBe(false)
    },
  },
  {
    title: 'a lock with a shortest time stays taken after its release until that time is over',
    isTimed: true,
    async run({ client, resource, shortMs }) {
      const [node, other] = [await client(), await client()]
      // The long one is a reference: nothing that takes time on a busy machine can end it.
      for (const [name, atLeast] of [
        [resource, shortMs],
        [`${resource}:long`, '10m'],
      ] as const)
        await (await node.acquire(name, { atLeast })).release()
      expect(await other.tryAcquire(`${resource}:long`)).toBeNull()
      const next = await other.acquire(resource)
      expect(next.held).toBe(true)
    },
  },
  {
    title: 'an extended lock is still taken when its first time is over',
    isTimed: true,
    async run({ client, resource, shortMs }) {
      const [node, other] = [await client(), await client()]
      const extended = await node.acquire(resource, { ttl: 4 * shortMs })
      await extended.renew({ ttl: '10m' })
      // It was taken after the other one and for as long, so that its end is later.
      await node.acquire(`${resource}:reference`, { ttl: 4 * shortMs })
      await other.acquire(`${resource}:reference`)
      expect(await other.tryAcquire(resource)).toBeNull()
      await extended.release()
      expect(await other.tryAcquire(resource)).not.toBeNull()
    },
  },
  {
    title: 'a released lock cannot be extended',
    async run({ client, resource }) {
      const lease = await (await client()).acquire(resource)
      await lease.release()
      await expect(lease.renew({ ttl: '10m' })).rejects.toMatchObject({ code: 'lease-lost' })
    },
  },
  {
    title: 'an expired lock cannot be extended',
    isTimed: true,
    async run({ client, resource, shortMs }) {
      const [node, other] = [await client(), await client()]
      const expired = await node.acquire(resource, { ttl: shortMs })
      await (await other.acquire(resource)).release()
      await expect(expired.renew({ ttl: '10m' })).rejects.toMatchObject({ code: 'lease-lost' })
      expect(await other.inspect(resource)).toBeNull()
    },
  },
  {
    title: 'eight tasks that count under two locks lose no increment',
    async run({ client, resource }) {
      const counters = new Map<string, number>()
      const task = async (node: Leases, name: string, times: number) => {
        for (let n = 0; n < times; n++)
          await node.withLease(name, async () => {
            const before = counters.get(name) ?? 0
            await new Promise((resolve) => setTimeout(resolve, 1))
            counters.set(name, before + 1)
          })
      }
      const nodes = await Promise.all([client(), client()])
      await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          task(nodes[n % 4 < 2 ? 0 : 1] as Leases, `${resource}:${n % 2}`, n === 0 ? 2 : 10),
        ),
      )
      expect([...counters]).toEqual(
        expect.arrayContaining([
          [`${resource}:0`, 32],
          [`${resource}:1`, 40],
        ]),
      )
    },
  },
]
