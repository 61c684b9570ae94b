import { LONG_MS } from '../options.ts'
import { asking, type Case, eventually, grab, granted, idsOf, notRenewed, refused, renewed } from './case.ts'
import { check, checkEqual } from './check.ts'

export const holdingCases: readonly Case[] = [
  {
    title: 'says what it supports',
    async run({ store, supports }) {
      check(store.kind.length > 0, 'the store has a kind')
      checkEqual(store.supports, supports, 'supports')
      checkEqual('waiting' in store, supports.queue, 'whether it can list the waiters')
    },
  },
  {
    title: 'grants a free resource, with all that was asked for',
    async run({ store, supports }) {
      const ask = asking('free', { metadata: { user: 'Mika' } })
      const { lease, replaced } = granted(await store.acquire(ask))
      const { resource, id, owner, metadata, state, token, acquiredAt, expiresAt, remaining } = lease
      checkEqual(
        { resource, id, owner, metadata, state },
        { resource: 'free', id: ask.id, owner: ask.owner, metadata: { user: 'Mika' }, state: 'held' },
        'the lease',
      )
      check(Number.isSafeInteger(token) && token > 0, `the token is a safe integer, got ${token}`)
      checkEqual(replaced ?? null, null, 'the replaced lease')
      if (!supports.expiry) return checkEqual([expiresAt, remaining], [null, null], 'expiry')
      check(
        remaining !== null && remaining > LONG_MS / 2 && remaining <= LONG_MS,
        `the time that is left is the TTL of ${LONG_MS} ms or a little less, got ${remaining}`,
      )
      check(
        expiresAt !== null && expiresAt > acquiredAt,
        `it expires after it was acquired at ${acquiredAt}, got ${expiresAt}`,
      )
    },
  },
  {
    title: 'refuses a second asker and says who holds it',
    async run({ store, peer }) {
      const lease = await grab(store, 'busy', { owner: 'Mika', metadata: { host: 'a' } })
      for (const other of [store, peer]) {
        const answer = await refused(other, 'busy', 'a second request')
        const { id, owner, token, metadata } = answer.holders[0] ?? {}
        checkEqual(
          { id, owner, token, metadata },
          { id: lease.id, owner: 'Mika', token: lease.token, metadata: { host: 'a' } },
          'the holder',
        )
        checkEqual(answer.place, null, 'the place of a caller that does not wait')
      }
    },
  },
  {
    title: 'grants the same lease again to the same id',
    async run({ store, peer, supports }) {
      const ask = asking('again', { ttl: LONG_MS / 4 })
      const first = granted(await store.acquire(ask)).lease
      const second = granted(await peer.acquire({ ...ask, ttl: LONG_MS }))
      checkEqual(second.lease.token, first.token, 'the token')
      checkEqual(second.replaced ?? null, null, 'the lease that a repeated request replaced')
      if (!supports.expiry) return
      const { remaining, expiresAt } = second.lease
      check((remaining ?? 0) > LONG_MS / 2, `a repeated request extends to ${LONG_MS} ms, got ${remaining}`)
      check(
        (expiresAt ?? 0) >= (first.expiresAt ?? 0),
        `the expiry does not go back from ${first.expiresAt}, got ${expiresAt}`,
      )
    },
  },
  {
    title: 'changes nothing but the expiry by a renewal or a repeated request',
    async run({ store, peer }) {
      const ask = asking('unchanged', { owner: 'Mika', metadata: { host: 'a' } })
      const { token, acquiredAt } = granted(await store.acquire(ask)).lease
      const extended = await renewed(peer, { resource: ask.resource, id: ask.id, ttl: LONG_MS }, 'the holder')
      const again = granted(await peer.acquire({ ...ask, owner: 'Ken', metadata: { host: 'b' } })).lease
      const [[read] = []] = await store.read([ask.resource])
      for (const lease of [extended, again, read])
        checkEqual(
          [lease?.owner, lease?.metadata, lease?.token, lease?.acquiredAt],
          ['Mika', { host: 'a' }, token, acquiredAt],
          'owner, metadata, token and time of the grant',
        )
    },
  },
  {
    title: 'keeps resources apart',
    async run({ store, peer }) {
      const leases = await Promise.all([grab(store, 'one'), grab(peer, 'two'), grab(store, 'One')])
      checkEqual(leases.length, 3, 'grants')
    },
  },
  {
    title: 'renews for the holder only',
    async run({ store, peer }) {
      const lease = await grab(store, 'renewed')
      const ask = { resource: 'renewed', id: lease.id, ttl: LONG_MS }
      checkEqual(
        (await renewed(peer, ask, 'the holder')).token,
        lease.token,
        'the token of the renewed lease',
      )
      const holders = await notRenewed(store, { ...ask, id: 'somebody else' }, 'another id')
      checkEqual(idsOf(holders), [lease.id], 'the holders that a refused renewal names')
    },
  },
  {
    title: 'renews for so long from now, and no longer',
    needs: ['expiry'],
    async run({ store, peer }) {
      const { id } = await grab(store, 'so long')
      const ask = { resource: 'so long', id, ttl: LONG_MS * 2 }
      const { remaining } = await renewed(peer, ask, 'the holder')
      check(
        remaining !== null && remaining > LONG_MS && remaining <= LONG_MS * 2,
        `a renewal extends to ${LONG_MS * 2} ms from now, got ${remaining}`,
      )
    },
  },
  {
    title: 'never shortens a lease by renewing it',
    needs: ['expiry'],
    async run({ store, ttl }) {
      const lease = await grab(store, 'shorter')
      const renewal = await store.renew({ resource: 'shorter', id: lease.id, ttl })
      check(renewal.ok && (renewal.lease.remaining ?? 0) > LONG_MS / 2, 'the longer expiry stands')
      const again = granted(await store.acquire(asking('shorter', { id: lease.id, ttl })))
      check((again.lease.remaining ?? 0) > LONG_MS / 2, 'nor by asking again')
    },
  },
  {
    title: 'creates nothing by renewing what does not exist',
    async run({ store }) {
      checkEqual(
        await store.renew({ resource: 'none', id: 'x', ttl: LONG_MS }),
        { ok: false, holders: [] },
        'renewal',
      )
      checkEqual(await store.read(['none']), [[]], 'the resource')
      const lease = await grab(store, 'ended')
      await store.release({ resource: 'ended', id: lease.id })
      await notRenewed(store, { resource: 'ended', id: lease.id, ttl: LONG_MS }, 'a holder that has released')
      checkEqual(await store.read(['ended']), [[]], 'the resource')
    },
  },
  {
    title: 'releases for the holder only, and once',
    async run({ store, peer }) {
      const lease = await grab(store, 'released')
      const foreign = await peer.release({ resource: 'released', id: 'somebody else' })
      checkEqual([foreign.ended, foreign.holders[0]?.id], [null, lease.id], 'a release by another')
      const { ended } = await store.release({ resource: 'released', id: lease.id })
      checkEqual(
        [ended?.id, ended?.token, ended?.state],
        [lease.id, lease.token, 'released'],
        'the ended lease',
      )
      checkEqual(
        await store.release({ resource: 'released', id: lease.id }),
        { ended: null, holders: [] },
        'the second release',
      )
      await grab(peer, 'released')
    },
  },
  {
    title: 'does not let an old holder free its successor',
    async run({ store, peer }) {
      const old = await grab(store, 'succession')
      await store.release({ resource: 'succession', id: old.id })
      const successor = await grab(peer, 'succession')
      const { ended, holders } = await store.release({ resource: 'succession', id: old.id })
      checkEqual([ended, holders[0]?.id], [null, successor.id], 'the late release')
    },
  },
  {
    title: 'ends a lease by force, by its token',
    async run({ store, peer }) {
      const lease = await grab(store, 'forced')
      const wrong = await peer.release({ resource: 'forced', token: lease.token - 1 })
      checkEqual([wrong.ended, wrong.holders[0]?.id], [null, lease.id], 'force with another token')
      const { ended } = await peer.release({ resource: 'forced', token: lease.token })
      checkEqual([ended?.id, ended?.state], [lease.id, 'released'], 'force with its token')
      const ask = { resource: 'forced', id: lease.id, ttl: LONG_MS }
      await notRenewed(store, ask, 'a holder whose lease was ended by force')
    },
  },
  {
    title: 'tells the holder when its lease was ended by force',
    needs: ['push'],
    async run(under) {
      const { store, peer } = under
      let told = 0
      const lease = await grab(store, 'told', { lost: () => told++ })
      await peer.release({ resource: 'told', token: lease.token })
      await eventually(under, 'the holder is told', () => told > 0)
      await under.pass(100)
      checkEqual(told, 1, 'the calls of lost')
    },
  },
  {
    title: 'tells nobody of a loss after an own release',
    needs: ['push'],
    async run(under) {
      const { store } = under
      let told = 0
      const own = await grab(store, 'own', { lost: () => told++ })
      await store.release({ resource: 'own', id: own.id })
      await under.pass(100)
      checkEqual(told, 0, 'the calls of lost')
    },
  },
]
