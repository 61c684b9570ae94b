/** `acquireAll`, in stores that have it: several requests, all of them granted or none. */
import type { Ask, Grant, LeaseStore } from '../../core/index.ts'
import { asking, type Case, checkHeldBy, eventually, grab, PATIENT, whileHeld } from './case.ts'
import { check, checkEqual } from './check.ts'
import { queued, served, woken } from './waiter.ts'

export const togetherCases: readonly Case[] = [
  {
    title: 'grants several requests together',
    async run({ store, peer }) {
      const asks = ['together-b', 'together-a', 'together-c'].map((resource) =>
        asking(resource, { metadata: { for: resource } }),
      )
      const grants = await grantedTogether(store, asks)
      if (!grants) return
      const told = grants.map(({ lease: { resource, id, metadata } }) => [resource, id, metadata])
      const expected = asks.map(({ resource, id, metadata = null }) => [resource, id, metadata])
      checkEqual(told, expected, 'the leases, in the order of the requests')
      for (const { lease } of grants) await checkHeldBy(peer, lease.resource, [lease])
      const renewal = await store.renew({ ...(asks[1] as Ask), ttl: 60_000 })
      check(renewal.ok, 'one of them is renewed')
      for (const { lease } of grants) {
        const { ended } = await store.release({ resource: lease.resource, id: lease.id })
        checkEqual(ended?.token, lease.token, `what the release of ${lease.resource} ended`)
      }
    },
  },
  {
    title: 'grants none of several requests if one is refused',
    async run({ store, peer }) {
      const held = await grab(peer, 'none-b')
      const asks = ['none-a', 'none-b', 'none-c'].map((resource) => asking(resource))
      if (!(await refusedTogether(store, asks))) return
      for (const resource of ['none-a', 'none-c']) await checkHeldBy(peer, resource, [])
      await checkHeldBy(peer, 'none-b', [held])
      await peer.release({ resource: 'none-b', id: held.id })
      const grants = await grantedTogether(store, asks)
      check((grants?.[1]?.lease.token ?? 0) > held.token, `a token above ${held.token}`)
    },
  },
  {
    title: 'grants several requests to one of many that ask at once',
    async run({ store, peer }) {
      if (!store.acquireAll || !peer.acquireAll) return
      const names = ['rush-a', 'rush-b', 'rush-c']
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) => {
          const asks = (n % 2 ? names : names.toReversed()).map((resource) => asking(resource))
          return (n % 3 ? store : peer).acquireAll?.(asks, PATIENT)
        }),
      )
      const grants = answers.filter((answer) => answer !== null)
      check(grants.length <= 1, `at most one of ten callers is granted, not ${grants.length}`)
      for (const { lease } of grants[0] ?? []) await checkHeldBy(store, lease.resource, [lease])
      // A cluster may grant nobody, if each of several callers was the first in one slot.
      if (grants.length === 0) for (const name of names) await checkHeldBy(store, name, [])
    },
  },
  {
    title: 'does not pass those who wait with several requests',
    needs: ['queue'],
    async run(under) {
      const { store, peer } = under
      if (!store.acquireAll) return
      const first = await grab(store, 'passed')
      const waiter = await queued(peer, 'passed', 0)
      await store.release({ resource: 'passed', id: first.id })
      await woken(under, waiter)
      await refusedTogether(store, [asking('free beside passed'), asking('passed')])
      await checkHeldBy(store, 'passed', [await served(waiter)])
    },
  },
  {
    title: 'grants several requests within their shares',
    needs: ['share'],
    async run({ store, peer }) {
      const asks = () => ['counted-a', 'counted-b'].map((resource) => asking(resource, { share: 2 }))
      const first = await grantedTogether(store, asks())
      if (!first) return
      checkEqual(first[0]?.lease.share, 2, 'the share of a lease')
      await grab(peer, 'counted-b', { share: 2 })
      await refusedTogether(store, asks())
      const held = (await peer.read(['counted-a']))[0]?.length
      checkEqual(held, 1, 'the leases of a resource that has room, after a refusal of the other')
    },
  },
  {
    title: 'grants several requests after leases that have expired, and reports these',
    needs: ['expiry'],
    async run(under) {
      const { store, peer } = under
      if (!store.acquireAll) return
      const { old, resource } = await whileHeld(under, 'lapsed', async (resource, ttl) => {
        const old = await grab(peer, resource, { ttl })
        await refusedTogether(store, [asking(`${resource} too`), asking(resource)])
        return { old, resource }
      })
      const asks = [asking(`${resource} too`), asking(resource)]
      let grants: readonly Grant[] | null | undefined = null
      for (let tries = 0; tries < 40 && !grants; tries++) {
        await under.pass((old.remaining ?? under.ttl) / 4)
        grants = await store.acquireAll(asks)
      }
      const replaced = grants?.[1]?.replaced
      checkEqual([replaced?.id, replaced?.state], [old.id, 'expired'], 'the replaced lease')
      check((grants?.[1]?.lease.token ?? 0) > old.token, `a token above ${old.token}`)
    },
  },
  {
    title: 'tells the holder of several leases which of them was ended by force',
    async run(under) {
      const { store, peer, supports } = under
      if (!supports.push) return
      const lost: string[] = []
      const asks = ['ended-a', 'ended-b'].map((resource) =>
        asking(resource, { lost: () => void lost.push(resource) }),
      )
      const grants = await grantedTogether(store, asks)
      if (!grants) return
      const token = grants[1]?.lease.token ?? 0
      await peer.release({ resource: 'ended-b', token })
      await eventually(under, 'the holder is told of its loss', () => lost.length > 0)
      checkEqual(lost, ['ended-b'], 'the leases that were lost')
    },
  },
]

async function grantedTogether(
  store: LeaseStore,
  asks: readonly Ask[],
): Promise<readonly Grant[] | undefined> {
  const grants = await store.acquireAll?.(asks, PATIENT)
  if (grants === null) throw new Error('several requests for free resources: expected grants, got null')
  return grants
}

/** Whether the store has `acquireAll`. */
async function refusedTogether(store: LeaseStore, asks: readonly Ask[]): Promise<boolean> {
  const grants = await store.acquireAll?.(asks, PATIENT)
  if (grants === undefined) return false
  checkEqual(grants, null, 'the answer to several requests of which one cannot be granted')
  return true
}
