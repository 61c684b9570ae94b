import type { LeaseRecord } from '../../core/index.ts'
import { asking, type Case, grab, grabSoon, granted, LONG_MS, whileHeld } from './case.ts'
import { check, checkEqual } from './check.ts'

const HOUR_MS = 3_600_000

export const expiryCases: readonly Case[] = [
  {
    title: 'frees an expired lease before any sweep, and hands it back',
    needs: ['expiry'],
    async run(under) {
      const { store, peer } = under
      const { old, resource, ttl } = await whileHeld(under, 'lapsed', async (resource, ttl) => {
        const old = await grab(store, resource, { ttl, owner: 'Mika' })
        const early = await peer.acquire(asking(resource))
        check(!early.granted, 'it is not granted before')
        check(
          (early.retryIn ?? 0) <= ttl && (early.holders[0]?.remaining ?? 0) <= ttl,
          'it says when to ask again',
        )
        return { old, resource, ttl }
      })
      await under.pass(ttl * 1.2)
      const { lease, replaced } = await grabSoon(under, peer, resource)
      checkEqual(
        [replaced?.id, replaced?.token, replaced?.owner, replaced?.state],
        [old.id, old.token, 'Mika', 'expired'],
        'the replaced lease',
      )
      const again = granted(await peer.acquire(asking(resource, { id: lease.id })))
      check(again.replaced === undefined, 'it is handed back once')
    },
  },
  {
    title: 'shows no expired lease',
    needs: ['expiry'],
    async run(under) {
      const { store, ttl } = under
      await grab(store, 'gone', { ttl })
      await under.pass(ttl * 1.5)
      checkEqual(await store.read(['gone']), [[]], 'read')
      if (under.supports.list) checkEqual((await store.list({ limit: 10 })).leases, [], 'list')
    },
  },
  {
    title: 'does not renew what has expired, even if nobody took it',
    needs: ['expiry'],
    async run(under) {
      const { store, ttl } = under
      const { id } = await grab(store, 'late', { ttl })
      await under.pass(ttl * 1.5)
      const renewal = await store.renew({ resource: 'late', id, ttl: LONG_MS })
      checkEqual(renewal, { ok: false, holders: [] }, 'the late renewal')
      await grabSoon(under, store, 'late')
    },
  },
  {
    title: 'keeps a lease that is renewed in time',
    needs: ['expiry'],
    async run(under) {
      const { store, peer } = under
      await whileHeld(under, 'kept', async (resource, ttl, restart) => {
        const { id, token } = await grab(store, resource, { ttl })
        for (let beat = 0; beat < 6; beat++) {
          await under.pass(ttl / 3)
          restart()
          const renewal = await store.renew({ resource, id, ttl })
          check(renewal.ok, `beat ${beat} is accepted`)
          check(!(await peer.acquire(asking(resource))).granted, 'nobody else gets it')
        }
        const [[lease] = []] = await peer.read([resource])
        checkEqual([lease?.id, lease?.token], [id, token], 'the holder')
      })
    },
  },
  {
    title: 'a late release does not harm the successor',
    needs: ['expiry'],
    async run(under) {
      const { store, peer, ttl } = under
      const old = await grab(store, 'late release', { ttl })
      await under.pass(ttl * 1.5)
      const { lease } = await grabSoon(under, peer, 'late release')
      checkEqual((await store.release({ resource: 'late release', id: old.id })).ended, null, 'what it ended')
      checkEqual((await peer.read(['late release']))[0]?.[0]?.id, lease.id, 'the holder')
    },
  },
  {
    title: 'says of a late release that the lease had expired',
    needs: ['expiry'],
    async run(under) {
      const { store, ttl } = under
      const { id } = await grab(store, 'too late', { ttl })
      await under.pass(ttl * 1.5)
      const { ended } = await store.release({ resource: 'too late', id })
      check(ended === null || ended.state === 'expired', `it had expired, got ${ended?.state}`)
      checkEqual(
        (await store.release({ resource: 'too late', id })).ended,
        null,
        'what a second release ended',
      )
    },
  },
  {
    title: 'sweeps no live lease, however little time it has left',
    needs: ['expiry'],
    async run(under) {
      const { store, peer } = under
      await whileHeld(under, 'nearly over', async (resource, ttl) => {
        const { id } = await grab(store, resource, { ttl })
        const swept = await peer.sweep({ limit: 100 })
        check(
          swept.every((lease) => lease.id !== id),
          'the live lease is not swept',
        )
        check((await store.renew({ resource, id, ttl })).ok, 'it is still live')
      })
    },
  },
  {
    title: 'judges time by its own clock, whatever the clock of the caller says',
    needs: ['expiry', 'skewCaller'],
    async run(under) {
      const { store, peer, ttl } = under
      const live = await grab(store, 'on time')
      const over = await grab(store, 'overdue', { ttl })
      await under.pass(ttl * 1.5)
      for (const skewMs of [HOUR_MS, -HOUR_MS]) {
        const restore = under.skewCaller(skewMs)
        try {
          check(!(await peer.acquire(asking(live.resource))).granted, 'a live lease is not taken')
          checkEqual(await peer.read([over.resource]), [[]], 'the expired lease')
          const [[shown] = []] = await peer.read([live.resource])
          check((shown?.remaining ?? Infinity) <= LONG_MS, `the time that is left: ${shown?.remaining} ms`)
          check(
            (await store.renew({ resource: live.resource, id: live.id, ttl: LONG_MS })).ok,
            'it is renewed',
          )
        } finally {
          restore()
        }
      }
      await grabSoon(under, peer, over.resource)
    },
  },
  {
    title: 'hands each expired lease to one of several sweepers, and forgets none',
    needs: ['expiry'],
    async run(under) {
      const { store, peer, ttl } = under
      const names = Array.from({ length: 12 }, (_, n) => `swept-${n}`)
      await Promise.all(names.map((name) => grab(store, name, { ttl })))
      const live = await grab(store, 'live')
      const swept: LeaseRecord[] = []
      await under.pass(ttl * 1.5)
      for (let round = 0; round < 20 && swept.length < names.length; round++) {
        for (const batch of await Promise.all(
          [store, peer, store, peer].map((by) => by.sweep({ limit: 5 })),
        )) {
          check(batch.length <= 5, 'a sweep keeps to its limit')
          swept.push(...batch)
        }
        if (swept.length < names.length) await under.pass(ttl / 4)
      }
      checkEqual(swept.map((lease) => lease.resource).sort(), names.toSorted(), 'all that was swept')
      check(
        swept.every((lease) => lease.state === 'expired'),
        'all are marked as expired',
      )
      checkEqual((await store.read(['live']))[0]?.[0]?.id, live.id, 'the live lease')
      const { replaced } = granted(await store.acquire(asking('swept-0')))
      check(replaced === undefined, 'a swept lease is not handed back again')
    },
  },
]
