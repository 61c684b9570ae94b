/** Leases that keep their resource after their end, by `atLeast` or `lockDelay`. */

import type { Refusal } from '../../core/index.ts'
import { LONG_MS } from '../options.ts'
import { asking, type Case, grab, granted, idsOf, notRenewed, refused, whileHeld } from './case.ts'
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
        await under.pass(atLeast * 0.4)
        const { ended } = await store.release({ resource, id })
        checkEqual([ended?.id, ended?.state], [id, 'released'], 'the released lease')
        const answer = await refused(peer, resource, 'a newcomer within `atLeast`')
        checkKept(answer, atLeast)
        check((answer.retryIn ?? 0) > 0, `a refusal tells when to ask again, got ${answer.retryIn}`)
        await notRenewed(store, { resource, id, ttl: LONG_MS }, 'a holder that has released')
        return { ended, atLeast }
      })
      // Counted from the grant.
      await under.pass(atLeast * 0.8)
      const who = 'a newcomer after `atLeast`'
      const { lease, replaced } = granted(await peer.acquire(asking(ended?.resource ?? '')), who)
      check(
        lease.token > (ended?.token ?? Infinity),
        `the token rises from ${ended?.token}, got ${lease.token}`,
      )
      checkEqual(replaced ?? null, null, 'the replaced lease, which its release has returned')
    },
  },
  {
    title: 'keeps an expired resource for its `atLeast`',
    needs: ['share', 'expiry'],
    async run(under) {
      const { store, peer, ttl } = under
      const { resource, id } = await grab(store, 'at least, expired', { ttl, atLeast: LONG_MS })
      await under.pass(ttl * 1.2)
      checkKept(await refused(peer, resource, 'a newcomer within `atLeast`'), LONG_MS)
      checkEqual(idsOf(await peer.sweep({ limit: 100 })), [id], 'what a sweep returns')
      await refused(peer, resource, 'a newcomer within `atLeast`, after a sweep')
      checkEqual(await store.sweep({ limit: 100 }), [], 'what the next sweep returns')
    },
  },
  {
    title: 'keeps nothing after a forced release',
    needs: ['share'],
    async run({ store, peer }) {
      const live = await grab(store, 'forced live', { atLeast: LONG_MS })
      await peer.release({ resource: live.resource, token: live.token })
      await grab(peer, live.resource)
      const over = await grab(store, 'forced over', { atLeast: LONG_MS })
      await store.release({ resource: over.resource, id: over.id })
      await peer.release({ resource: over.resource, token: over.token })
      await grab(peer, over.resource)
    },
  },
  {
    title: 'counts a kept lease among the permits',
    needs: ['share'],
    async run({ store, peer }) {
      const permit = { share: 2, atLeast: LONG_MS }
      const kept = await grab(store, 'kept permit', permit)
      await store.release({ resource: 'kept permit', id: kept.id })
      await grab(peer, 'kept permit', permit)
      await refused(peer, 'kept permit', 'the third of two permits, one of them kept', permit)
      granted(await peer.acquire(asking('kept permit', { replace: 'any' })))
    },
  },
  {
    title: 'keeps a resource through a restart',
    needs: ['share', 'reopen'],
    async run({ store, reopen }) {
      const { id } = await grab(store, 'restart', { atLeast: LONG_MS })
      await store.release({ resource: 'restart', id })
      const later = await reopen()
      await refused(later, 'restart', 'a newcomer within `atLeast`, after a restart')
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
        checkEqual(answer.granted ? 'granted' : answer.place, 0, 'the place of the first waiter')
        if (!answer.granted)
          check(
            (answer.retryIn ?? Infinity) <= atLeast,
            `it asks again within \`atLeast\` of ${atLeast} ms, got ${answer.retryIn}`,
          )
        return { waiter, keptFor: atLeast }
      })
      await under.pass(keptFor * 1.2)
      await refused(store, waiter.ask.resource, 'a newcomer while another waits')
      granted(await peer.acquire(waiter.ask), 'the first waiter')
    },
  },
  {
    title: 'blocks for the lock delay after an expiry',
    needs: ['share', 'expiry'],
    async run(under) {
      const { store, peer, ttl } = under
      const { resource, id } = await grab(store, 'delayed', { ttl, lockDelay: LONG_MS })
      await under.pass(ttl * 1.2)
      checkKept(await refused(peer, resource, 'a newcomer within the lock delay'), LONG_MS)
      await notRenewed(store, { resource, id, ttl: LONG_MS }, 'a holder whose lease has expired')
      await refused(store, resource, 'the same id within the lock delay', { id })
      checkEqual(idsOf(await peer.sweep({ limit: 100 })), [id], 'what a sweep returns')
      await refused(peer, resource, 'a newcomer within the lock delay, after a sweep')
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
      const { resource, id } = await grab(store, 'no delay', { lockDelay: LONG_MS })
      await store.release({ resource, id })
      await grab(peer, resource)
    },
  },
]

/** Nobody holds the resource, and it stays taken for a while. */
function checkKept({ holders, keptFor }: Refusal, atMostMs: number): void {
  checkEqual(idsOf(holders), [], 'the holders of a kept resource')
  check(
    keptFor !== undefined && keptFor > 0 && keptFor <= atMostMs,
    `a kept resource has a keptFor of at most ${atMostMs} ms, got ${keptFor}`,
  )
}
