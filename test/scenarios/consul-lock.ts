/**
 * The scenarios of the tests of Consul's `api.Lock` and `api.Semaphore`.
 *
 * Different here: there are no keys to destroy. A second release of a handle does nothing, where Consul's is an error, and
 * a release is no loss, where Consul closes the channel of the lock.
 * Requests for one resource with different limits are granted while each of them allows it; Consul refuses them.
 */
import { expect } from 'vitest'
import { LeaseError, type LeaseStore, type Leases } from '../../src/core/index.ts'
import { eventually } from '../eventually.ts'
import { grab } from '../stores/asking-by-id.ts'
import type { Scenario } from './scenario.ts'

export const consulLock: readonly Scenario[] = [
  {
    title: 'a lock is held from the grant to the release, and its channel tells only of a loss',
    async run({ client, resource }) {
      const lock = await (await client()).acquire(resource)
      expect(lock.signal.aborted).toBe(false)
      await lock.release()
      expect([lock.held, lock.signal.aborted]).toEqual([false, false])
      await lock.release()
    },
  },
  {
    title: 'a holder loses its lock when an operator ends it',
    isTimed: true,
    async run({ client, resource, shortMs }) {
      const [session, operator] = [await client({ ttl: 4 * shortMs, heartbeat: shortMs }), await client()]
      const lock = await session.acquire(resource)
      const lost = new Promise((resolve) => lock.onLost(resolve))
      const [holder] = await operator.holders(resource)
      expect(await operator.release(resource, { token: holder?.token ?? 0 })).toBe(true)
      expect(await lost).toMatchObject({ code: 'lease-lost' })
    },
  },
  {
    title: 'an operator cannot end a later lock than the one that it has seen',
    async run({ client, resource }) {
      const [session, operator] = [await client(), await client()]
      const seen = await session.acquire(resource)
      await seen.release()
      const later = await session.acquire(resource)
      expect(await operator.release(resource, { token: seen.token })).toBe(false)
      expect(later.held).toBe(true)
      expect(await operator.inspect(resource)).toMatchObject({ token: later.token })
    },
  },
  {
    title: 'every contender gets its turn: three for a lock, four for a semaphore of two',
    async run({ client, resource }) {
      const sessions = await Promise.all([client(), client(), client(), client()])
      const contend = (name: string, share: number | undefined, contenders: readonly Leases[]) =>
        Promise.all(contenders.map((session) => session.withLease(name, async () => true, { share })))
      expect(await contend(resource, undefined, sessions.slice(0, 3))).toEqual([true, true, true])
      expect(await contend(`${resource}:2`, 2, sessions)).toEqual([true, true, true, true])
    },
  },
  {
    title: 'a lock and a semaphore of one name conflict',
    async run({ client, resource }) {
      const [session, other] = [await client(), await client()]
      const permit = await session.acquire(resource, { share: 2 })
      expect(await other.tryAcquire(resource)).toBeNull()
      await permit.release()
      await session.acquire(resource)
      expect(await other.tryAcquire(resource, { share: 2 })).toBeNull()
    },
  },
  {
    title: 'of two limits for one semaphore the lower one counts',
    async run({ client, resource }) {
      const [session, other] = [await client(), await client()]
      await session.acquire(resource, { share: 1 })
      expect(await other.tryAcquire(resource, { share: 2 })).toBeNull()
    },
  },
  {
    title: 'a limit below one is refused',
    async run({ client, resource }) {
      const session = await client()
      for (const share of [0, -1, 1.5])
        await expect(session.acquire(resource, { share })).rejects.toMatchObject({ code: 'invalid-argument' })
    },
  },
  {
    title: 'a one-shot waits for its time, gives up, and works after a slot is free',
    isTimed: true,
    async run({ client, resource, shortMs }) {
      const sessions = await Promise.all([client(), client(), client()])
      const [first, second, contender] = sessions
      await first.acquire(resource, { share: 2 })
      const slot = await second.acquire(resource, { share: 2 })
      await expect(contender.acquire(resource, { share: 2, wait: shortMs })).rejects.toMatchObject({
        code: 'lease-held',
        holders: [expect.anything(), expect.anything()],
      })
      await slot.release()
      expect((await contender.acquire(resource, { share: 2 })).held).toBe(true)
    },
  },
  {
    title: 'a session reclaims its own lock after a restart',
    async run({ client, resource }) {
      const [before, after] = [await client(), await client()]
      const ticket = await (await before.acquire(resource)).detach()
      const reclaimed = await after.adopt(ticket)
      expect([reclaimed.held, reclaimed.token]).toEqual([true, ticket.token])
      await reclaimed.release()
      expect(await before.tryAcquire(resource)).not.toBeNull()
    },
  },
  {
    title: 'a holder keeps its lock though some of its renewals fail, and loses it when all do',
    isTimed: true,
    async run({ client, store, resource, shortMs }) {
      const flaky = new FlakyRenewals(await store())
      const session = await client({ ttl: 6 * shortMs, heartbeat: shortMs / 2 }, flaky.store)
      const lock = await session.acquire(resource)
      flaky.failures = 2
      await eventually(() => expect(flaky.successes).toBeGreaterThan(0))
      expect(lock.signal.aborted).toBe(false)
      flaky.failures = Infinity
      const lost = await new Promise((resolve) => lock.onLost(resolve))
      expect(lost).toMatchObject({ code: 'lease-lost' })
    },
  },
  {
    title: 'a lock whose holder died stays taken for its lock delay, and a released one does not',
    isTimed: true,
    async run({ client, store, resource, shortMs }) {
      const [session, other] = [await client(), await client()]
      await (await session.acquire(resource, { lockDelay: '10m' })).release()
      expect(await other.tryAcquire(resource)).not.toBeNull()
      const dead = `${resource}:dead`
      await grab(await store(), 'a', { resource: dead, ttl: shortMs, lockDelay: 600_000 })
      await eventually(async () => expect(await other.inspect(dead)).toMatchObject({ state: 'kept' }))
      expect(await other.tryAcquire(dead)).toBeNull()
    },
  },
  {
    title: 'the sequencer rises with every grant',
    async run({ client, resource }) {
      const sessions = [await client(), await client()]
      const tokens: number[] = []
      for (let n = 0; n < 6; n++) {
        const lock = await sessions[n % 2]?.acquire(resource)
        tokens.push(lock?.token ?? 0)
        await lock?.release()
      }
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b))
    },
  },
]

/** A store whose next renewals fail. */
class FlakyRenewals {
  failures = 0
  successes = 0
  readonly store: LeaseStore

  constructor(store: LeaseStore) {
    const renew = store.renew.bind(store)
    this.store = Object.assign(store, {
      renew: async (...call: Parameters<LeaseStore['renew']>) => {
        if (this.failures > 0) {
          this.failures--
          throw new LeaseError('store-unavailable', 'the server answers 500')
        }
        this.successes++
        return renew(...call)
      },
    })
  }
}
