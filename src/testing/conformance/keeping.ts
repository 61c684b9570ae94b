/** Leases that keep their resource after their end, by `atLeast` or `lockDelay`. */
import { asking, type Case, grab, granted, whileHeld } from './case.ts'
import { check, checkEqual } from './check.ts'
import { queued } from './waiter.ts'

export const keepingCases: readonly Case[] = [
  {
    title: 'keeps a released resource for its `atLeast`',
    needs: ['share'],
    async run(under) {
      const { store, peer } = under
      const { ended, atLeast } = await whileHeld(under, 'at least', async (resource, atLeast) => {
        const { id } = await grab(store, resource, { atLeast })
        const { ended } = await store.release({ resource, id })
        checkEqual([ended?.id, ended?.state], [id, 'released'], 'the released lease')
        checkEqual(await peer.read([resource]), [[]], 'the live leases')
        const answer = await peer.acquire(asking(resource))
        check(!answer.granted, 'it is still taken')
        checkEqual(answer.holders, [], 'its holders')
        check((answer.keptFor ?? 0) > 0 && (answer.keptFor ?? 0) <= atLeast, `kept for ${answer.keptFor} ms`)
        check((answer.retryIn ?? 0) > 0, 'the caller is told when to ask again')
        check(!(await store.renew({ resource, id, ttl: 1000 })).ok, 'a released lease cannot be renewed')
        return { ended, atLeast }
      })
      await under.pass(atLeast * 1.2)
      const { lease, replaced } = granted(await peer.acquire(asking(ended?.resource ?? '')))
      check(lease.token > (ended?.token ?? Infinity), 'the token rises')
      check(replaced === undefined, 'it was returned by its release')
    },
  },
  {
    title: 'keeps an expired resource for its `atLeast`',
    needs: ['share', 'expiry'],
    async run(under) {
      const { store, peer, ttl } = under
      const { resource } = await grab(store, 'at least, expired', { ttl, atLeast: 60_000 })
      await under.pass(ttl * 1.2)
      const answer = await peer.acquire(asking(resource))
      check(!answer.granted && answer.holders.length === 0, 'it is still taken, by nobody')
      const swept = await peer.sweep({ limit: 100 })
      check(
        swept.some((lease) => lease.resource === resource),
        'a sweep returns the expired lease',
      )
      check(!(await peer.acquire(asking(resource))).granted, 'it is still taken after the sweep')
      checkEqual(await store.sweep({ limit: 100 }), [], 'what the next sweep returns')
    },
  },
  {
    title: 'keeps nothing after a forced release',
    needs: ['share'],
    async run({ store, peer }) {
      const live = await grab(store, 'forced live', { atLeast: 60_000 })
      await peer.release({ resource: live.resource, token: live.token })
      await grab(peer, live.resource)
      const over = await grab(store, 'forced over', { atLeast: 60_000 })
      await store.release({ resource: over.resource, id: over.id })
      await peer.release({ resource: over.resource, token: over.token })
      await grab(peer, over.resource)
    },
  },
  {
    title: 'counts a kept lease among the permits',
    needs: ['share'],
    async run({ store, peer }) {
      const permit = { share: 2, atLeast: 60_000 }
      const kept = await grab(store, 'kept permit', permit)
      await store.release({ resource: 'kept permit', id: kept.id })
      await grab(peer, 'kept permit', permit)
      check(!(await peer.acquire(asking('kept permit', permit))).granted, 'both permits are taken')
      granted(await peer.acquire(asking('kept permit', { replace: 'any' })))
    },
  },
  {
    title: 'keeps a resource through a restart',
    needs: ['share', 'reopen'],
    async run({ store, reopen }) {
      const { id } = await grab(store, 'restart', { atLeast: 60_000 })
      await store.release({ resource: 'restart', id })
      const later = await reopen()
      check(!(await later.acquire(asking('restart'))).granted, 'it is still taken')
      await later.close()
    },
  },
  {
    title: 'gives a kept resource to the first waiter at its end',
    needs: ['share', 'queue'],
    async run(under) {
      const { store, peer } = under
      const { waiter, keptFor } = await whileHeld(under, 'kept queue', async (resource, atLeast) => {
        const { id } = await grab(store, resource, { atLeast })
        const waiter = await queued(peer, resource, 0)
        await store.release({ resource, id })
        const answer = await peer.acquire(waiter.ask)
        check(!answer.granted && answer.place === 0, 'it waits, first in the queue')
        check((answer.retryIn ?? Infinity) <= atLeast, `it asks again in ${answer.retryIn} ms`)
        return { waiter, keptFor: atLeast }
      })
      await under.pass(keptFor * 1.2)
      check(!(await store.acquire(asking(waiter.ask.resource))).granted, 'a newcomer does not pass')
      granted(await peer.acquire(waiter.ask))
    },
  },
  {
    title: 'blocks for the lock delay after an expiry',
    needs: ['share', 'expiry'],
    async run(under) {
      const { store, peer, ttl } = under
      const { resource, id } = await grab(store, 'delayed', { ttl, lockDelay: 60_000 })
      await under.pass(ttl * 1.2)
      checkEqual(await peer.read([resource]), [[]], 'the live leases')
      const answer = await peer.acquire(asking(resource))
      check(!answer.granted && answer.holders.length === 0, 'it is still taken, by nobody')
      check((answer.keptFor ?? 0) > 0, `kept for ${answer.keptFor} ms`)
      check(!(await store.renew({ resource, id, ttl: 1000 })).ok, 'an expired lease cannot be renewed')
      check(!(await store.acquire(asking(resource, { id }))).granted, 'nor granted again to its id')
    },
  },
  {
    title: 'ends the lock delay in time',
    needs: ['share', 'expiry'],
    async run(under) {
      const { store, peer, ttl } = under
      const { resource, id } = await grab(store, 'delay over', { ttl, lockDelay: ttl })
      await under.pass(ttl * 2.4)
      const { replaced } = granted(await peer.acquire(asking(resource)))
      checkEqual([replaced?.id, replaced?.state], [id, 'expired'], 'the replaced lease')
    },
  },
  {
    title: 'has no lock delay after a release',
    needs: ['share'],
    async run({ store, peer }) {
      const { resource, id } = await grab(store, 'no delay', { lockDelay: 60_000 })
      await store.release({ resource, id })
      await grab(peer, resource)
    },
  },
]
