import type { LeaseRecord } from '../../core/index.ts'
import { LONG_MS } from '../options.ts'
import {
  asking,
  type Case,
  checkHeldBy,
  grab,
  grabSoon,
  granted,
  idsOf,
  refused,
  renewed,
  whileHeld,
} from './case.ts'
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
        const { retryIn, holders } = await refused(peer, resource, 'a newcomer before the expiry')
        const remaining = holders[0]?.remaining
        check(
          (retryIn ?? 0) <= ttl && (remaining ?? 0) <= ttl,
          `a refusal says to ask again within the TTL of ${ttl} ms, got retryIn ${retryIn} and remaining ${remaining}`,
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
      checkEqual(again.replaced ?? null, null, 'the replaced lease, when asked again')
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
          await renewed(store, { resource, id, ttl }, `the holder, for the ${beat + 1}. time`)
          await refused(peer, resource, 'a newcomer beside a holder that renews')
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
      await checkHeldBy(peer, 'late release', [lease])
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
      check(
        ended === null || ended.state === 'expired',
        `the state of a lease that was released too late is expired, got ${ended?.state}`,
      )
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
        // What an earlier attempt left behind has expired.
        const swept = idsOf(await peer.sweep({ limit: 100 })).filter((other) => other === id)
        checkEqual(swept, [], 'the live lease that a sweep ended')
        await renewed(store, { resource, id, ttl }, 'the holder of a lease with little time left')
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
      const skewed: LeaseRecord[] = []
      for (const skewMs of [HOUR_MS, -HOUR_MS]) {
        const restore = under.skewCaller(skewMs)
        const judged = `by the clock of the store, with that of the caller ${skewMs / HOUR_MS} h off:`
        try {
          await refused(peer, live.resource, `${judged} a newcomer beside a live lease`)
          checkEqual(await peer.read([over.resource]), [[]], `${judged} the expired lease`)
          const [[shown] = []] = await peer.read([live.resource])
          check(
            shown !== undefined && (shown.remaining ?? Infinity) <= LONG_MS,
            `${judged} a live lease is shown with at most ${LONG_MS} ms left, got ${shown?.remaining}`,
          )
          await renewed(store, { ...live, ttl: LONG_MS }, `${judged} the holder of a live lease`)
          skewed.push(await grab(peer, `long ${skewMs}`), await grab(peer, `short ${skewMs}`, { ttl }))
          const swept = (await peer.sweep({ limit: 100 })).map(({ resource }) => resource)
          check(!swept.includes(live.resource), `${judged} no live lease is swept, got ${swept}`)
        } finally {
          restore()
        }
      }
      await under.pass(ttl * 1.5)
      for (const { resource } of skewed) {
        const what = `by the clock of the store: ${resource}, granted while that of the caller was off`
        if (resource.startsWith('long')) await refused(store, resource, what)
        else await grabSoon(under, store, resource)
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
          check(batch.length <= 5, `a sweep returns at most 5 leases, got ${batch.length}`)
          swept.push(...batch)
        }
        if (swept.length < names.length) await under.pass(ttl / 4)
      }
      checkEqual(swept.map((lease) => lease.resource).sort(), names.toSorted(), 'all that was swept')
      checkEqual(
        [...new Set(swept.map(({ state }) => state))],
        ['expired'],
        'the state of all that was swept',
      )
      await checkHeldBy(store, 'live', [live])
      const { replaced } = granted(await store.acquire(asking('swept-0')))
      checkEqual(replaced ?? null, null, 'the replaced lease, which a sweep has returned')
    },
  },
]
