import { createLeases, type LeaseError } from '../../core/index.ts'
import { LONG_MS } from '../options.ts'
import { asking, type Case, grab, refused, whileReserved } from './case.ts'
import { check, checkEqual } from './check.ts'
import { queued, served, woken } from './waiter.ts'

/** What a manager offers beyond waiting and holding, with one manager for each of the two stores. */
export const managingCases: readonly Case[] = [
  {
    title: 'extends a lease to a chosen TTL, and never shortens it',
    needs: ['expiry'],
    async run({ store }) {
      const leases = createLeases(store)
      const lease = await leases.acquire('extended', { ttl: LONG_MS, heartbeat: false })
      await lease.renew({ ttl: 2 * LONG_MS })
      const [extended] = await leases.holders('extended')
      check(
        (extended?.remaining ?? 0) > 1.5 * LONG_MS,
        `it is extended to ${2 * LONG_MS} ms, got ${extended?.remaining}`,
      )
      await lease.renew()
      const [renewed] = await leases.holders('extended')
      check(
        (renewed?.remaining ?? 0) > 1.5 * LONG_MS,
        `a renewal for ${LONG_MS} ms does not shorten it, got ${renewed?.remaining}`,
      )
      check(lease.held, `the handle with token ${lease.token} holds its lease`)
      await leases.close()
    },
  },
  {
    title: 'tells who holds a resource',
    async run({ store, peer }) {
      const leases = createLeases(peer)
      checkEqual((await leases.holders('shown')).length, 0, 'the holders of a free resource')
      const { token, owner } = await grab(store, 'shown', { owner: 'Mika' })
      const holders = await leases.holders('shown')
      checkEqual(
        holders.map((holder) => [holder.token, holder.owner]),
        [[token, owner]],
        'the holders',
      )
      await leases.close()
    },
  },
  {
    title: 'ends a lease by its token, once, and says whether it did',
    async run({ store, peer }) {
      const leases = createLeases(peer)
      const old = await grab(store, 'forced')
      checkEqual(await leases.release('forced', { token: old.token - 1 }), false, 'an older token')
      checkEqual(await leases.release('forced', { token: old.token }), true, 'the token of the holder')
      checkEqual(await leases.release('forced', { token: old.token }), false, 'the same token again')
      const next = await grab(store, 'forced')
      checkEqual(await leases.release('forced', { token: old.token }), false, 'the token of the lease before')
      check(next.token > old.token, `the token rises from ${old.token}, got ${next.token}`)
      await leases.close()
    },
  },
  {
    title: 'lets another process continue a lease that was detached',
    needs: ['expiry'],
    async run({ store, peer }) {
      const [from, to] = [createLeases(store), createLeases(peer)]
      const lease = await from.acquire('handed over', { ttl: LONG_MS, owner: 'Mika' })
      const ticket = JSON.parse(JSON.stringify(await lease.detach()))
      check(!lease.held, `the detached handle with token ${lease.token} holds nothing`)
      check(!lease.signal.aborted, `the detached lease with token ${lease.token} is not lost`)
      await lease.release()
      await from.close()
      const adopted = await to.adopt(ticket)
      const { token, owner, held } = adopted
      checkEqual([token, owner, held], [lease.token, 'Mika', true], 'the adopted lease')
      await adopted.renew()
      await refused(peer, 'handed over', 'a newcomer beside an adopted lease')
      await adopted.release()
      checkEqual((await to.holders('handed over')).length, 0, 'the holders after the release')
      await to.close()
    },
  },
  {
    title: 'lets nobody continue a lease that has ended',
    needs: ['expiry'],
    async run({ store, peer }) {
      const [from, to] = [createLeases(store), createLeases(peer)]
      const lease = await from.acquire('too late', { ttl: LONG_MS })
      const ticket = await lease.detach()
      await to.release('too late', { token: lease.token })
      const next = await grab(store, 'too late')
      const failure = await to.adopt(ticket).catch((error: LeaseError) => error)
      checkEqual((failure as LeaseError).code, 'lease-lost', 'the failure')
      checkEqual((await to.holders('too late'))[0]?.token, next.token, 'the holder')
      await Promise.all([from.close(), to.close()])
    },
  },
  {
    title: 'lists the waiters of a resource, in the order of the queue',
    needs: ['queue'],
    async run({ store, peer }) {
      const leases = createLeases(peer)
      checkEqual((await leases.waiting('awaited')).length, 0, 'nobody waits')
      await grab(store, 'awaited')
      const asks = ['Ann', 'Ben'].map((owner) => asking('awaited', { owner, wake: () => {} }))
      for (const ask of asks) await store.acquire(ask)
      checkEqual(
        await leases.waiting('awaited'),
        asks.map(({ id, owner }, place) => ({ id, owner, share: null, place })),
        'those who wait',
      )
      await store.release({ resource: 'awaited', id: asks[0]?.id ?? '' })
      checkEqual(
        (await leases.waiting('awaited')).map(({ owner, place }) => [owner, place]),
        [['Ben', 0]],
        'those who still wait',
      )
      await leases.close()
    },
  },
  {
    title: 'lists and counts the waiters of several resources at once',
    needs: ['queue'],
    async run({ store, peer }) {
      const waitFor = (resource: string, owner: string) =>
        store.acquire(asking(resource, { owner, wake: () => {} }))
      for (const resource of ['one', 'two', 'none']) await grab(store, resource)
      // A name and an owner that a store might have to escape.
      const odd = 'Ann "The ☂" O\'Hara\n%20 \\ {}'
      for (const owner of [odd, 'Ben', 'Cleo']) await waitFor('one', owner)
      await waitFor('two', 'Dora')
      const waiting = async (limit: number, ...resources: string[]) => {
        const queues = await peer.waiting?.({ resources, limit })
        return queues?.map(({ count, first }) => [count, first.map(({ owner }) => owner)])
      }
      checkEqual(
        await waiting(2, 'two', 'unknown', 'one', 'none'),
        [
          [1, ['Dora']],
          [0, []],
          [3, [odd, 'Ben']],
          [0, []],
        ],
        'the queues',
      )
      checkEqual(await waiting(0, 'one'), [[3, []]], 'the queue that is only counted')
      checkEqual(await waiting(1), [], 'the queues of no resource')
    },
  },
  {
    title: 'does not show a waiter that was granted the lease',
    needs: ['queue'],
    async run(under) {
      const { store, peer } = under
      await whileReserved(under, 'served', async (resource, restart) => {
        const holder = await grab(store, resource)
        const waiter = await queued(peer, resource, 0)
        restart()
        await store.release({ resource, id: holder.id })
        await woken(under, waiter)
        await served(waiter)
        const queues = await store.waiting?.({ resources: [resource], limit: 10 })
        checkEqual(queues, [{ count: 0, first: [] }], 'those who wait')
      })
    },
  },
]
