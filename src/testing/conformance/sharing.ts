/** Several leases of one resource: who fits beside whom, and what happens to one of them alone. */

import type { LeaseRecord } from '../../core/index.ts'
import { LONG_MS } from '../options.ts'
import {
  asking,
  type Case,
  checkHeldBy,
  eventually,
  grab,
  granted,
  idsOf,
  notRenewed,
  PATIENT,
  refused,
  renewed,
  whileHeld,
} from './case.ts'
import { check, checkEqual } from './check.ts'

const READER = { share: Infinity }

export const sharingCases: readonly Case[] = [
  {
    title: 'grants as many leases as their share allows, and no more',
    needs: ['share'],
    async run({ store, peer }) {
      const leases = []
      for (let n = 0; n < 3; n++) leases.push(await grab(n % 2 ? peer : store, 'permits', { share: 3 }))
      for (const other of [store, peer]) await refused(other, 'permits', 'the fourth of three', { share: 3 })
      checkEqual(new Set(idsOf(leases)).size, 3, 'how many different ids there are')
      checkEqual(sharesOf(leases), [3, 3, 3], 'the share of each')
      await peer.release({ resource: 'permits', id: leases[1]?.id ?? '' })
      await grab(peer, 'permits', { share: 3 })
      await refused(store, 'permits', 'one more than the permits', { share: 3 })
    },
  },
  {
    title: 'counts the smallest share of the request and of all that hold',
    needs: ['share'],
    async run({ store, peer }) {
      await grab(store, 'smallest', { share: 5 })
      await refused(peer, 'smallest', 'a share of one beside another', { share: 1 })
      const narrow = await grab(peer, 'smallest', { share: 2 })
      await refused(store, 'smallest', 'a third beside a share of two', { share: 5 })
      await refused(store, 'smallest', 'a reader beside a share of two', READER)
      await store.release({ resource: 'smallest', id: narrow.id })
      for (const who of ['the second', 'the third']) {
        const ask = asking('smallest', { share: 5 })
        granted(await peer.acquire(ask), `${who} of five, after the share of two has ended`)
      }
    },
  },
  {
    title: 'lets readers in together, and a writer only alone',
    needs: ['share'],
    async run({ store, peer }) {
      const readers = [await grab(store, 'text', READER), await grab(peer, 'text', READER)]
      check(
        readers.every(({ share }) => share === Infinity),
        `the share of a reader is Infinity, got ${sharesOf(readers)}`,
      )
      await refused(peer, 'text', 'a writer beside readers')
      for (const { id } of readers) await store.release({ resource: 'text', id })
      const writer = await grab(peer, 'text')
      checkEqual(writer.share, null, 'the share of a writer')
      await refused(store, 'text', 'a reader beside a writer', READER)
    },
  },
  {
    title: 'names every holder, oldest first',
    needs: ['share'],
    async run({ store, peer }) {
      const leases = []
      for (const owner of ['Ann', 'Ben', 'Cem']) leases.push(await grab(store, 'named', { share: 3, owner }))
      const tokens = leases.map(({ token }) => token)
      checkEqual(
        [...new Set(tokens)],
        tokens.toSorted((a, b) => a - b),
        'tokens that differ and rise',
      )
      const expected = leases.map(brief)
      const [found = []] = await peer.read(['named'])
      checkEqual(found.map(brief), expected, 'the leases that are read')
      const { holders } = await refused(peer, 'named', 'a writer')
      checkEqual(holders.map(brief), expected, 'the holders of a refusal')
      const others = await notRenewed(
        peer,
        { resource: 'named', id: 'unknown', ttl: LONG_MS },
        'an unknown id',
      )
      checkEqual(others.map(brief), expected, 'the holders of a refused renewal')
    },
  },
  {
    title: 'grants the same shared lease again to the same id',
    needs: ['share'],
    async run({ store, peer }) {
      const ask = asking('again', { share: 2 })
      const first = granted(await store.acquire(ask)).lease
      const again = granted(await peer.acquire({ ...ask, share: 3 })).lease
      checkEqual(
        [again.token, again.share],
        [first.token, 2],
        'the token and the share of a repeated request',
      )
      await checkHeldBy(store, 'again', [first])
      await grab(peer, 'again', { share: 3 })
      checkEqual(granted(await store.acquire(ask)).lease.token, first.token, 'the token beside another')
      await refused(peer, 'again', 'a third beside a share of two', { share: 3 })
    },
  },
  {
    title: 'renews and releases one of several',
    needs: ['share'],
    async run({ store, peer }) {
      const [a, b] = [await grab(store, 'several', { share: 2 }), await grab(peer, 'several', { share: 2 })]
      const renewal = await renewed(
        peer,
        { resource: 'several', id: a.id, ttl: LONG_MS * 2 },
        'one of several',
      )
      checkEqual(brief(renewal), brief(a), 'the renewed lease')
      const { ended } = await store.release({ resource: 'several', id: a.id })
      checkEqual([ended?.id, ended?.state], [a.id, 'released'], 'the released lease')
      await checkHeldBy(peer, 'several', [b])
      await notRenewed(store, { resource: 'several', id: a.id, ttl: LONG_MS }, 'the one that has released')
      await renewed(store, { resource: 'several', id: b.id, ttl: LONG_MS }, 'the other')
    },
  },
  {
    title: 'ends one of several by force, and tells only its holder',
    needs: ['share'],
    async run(under) {
      const { store, peer } = under
      const told: string[] = []
      const holding = (name: string) => grab(store, 'forced', { share: 2, lost: () => told.push(name) })
      const [a, b] = [await holding('a'), await holding('b')]
      const { ended } = await peer.release({ resource: 'forced', token: a.token })
      checkEqual(ended?.id, a.id, 'the ended lease')
      await renewed(peer, { resource: 'forced', id: b.id, ttl: LONG_MS }, 'the other')
      if (!under.supports.push) return
      await eventually(under, '`lost` of the ended lease is called', () => told.length > 0)
      await under.pass(50)
      checkEqual(told, ['a'], 'who was told')
    },
  },
  {
    title: 'lets one of several expire alone',
    needs: ['share', 'expiry'],
    async run(under) {
      const { store, peer } = under
      const { short, live } = await whileHeld(under, 'one expires', async (resource, ttl) => {
        const short = await grab(store, resource, { share: 2, ttl })
        const live = await grab(peer, resource, { share: 2 })
        await refused(peer, resource, 'a third of two', { share: 2 })
        return { short, live }
      })
      await under.pass((short.remaining ?? 0) * 1.2)
      await checkHeldBy(store, short.resource, [live])
      const { replaced } = granted(await peer.acquire(asking(short.resource, { share: 2 })))
      checkEqual([replaced?.id, replaced?.state], [short.id, 'expired'], 'the replaced lease')
    },
  },
  {
    title: 'returns each of several expired leases from one sweep only',
    needs: ['share', 'expiry'],
    async run(under) {
      const { store, peer } = under
      const { leases, ttl } = await whileHeld(under, 'swept', async (resource, ttl) => {
        const leases: LeaseRecord[] = []
        for (let n = 0; n < 3; n++) leases.push(await grab(store, resource, { share: 3, ttl }))
        await checkHeldBy(store, resource, leases)
        return { leases, ttl }
      })
      await under.pass(ttl * 1.2)
      const swept = [
        ...(await store.sweep({ limit: 2 })),
        ...(await peer.sweep({ limit: 100 })),
        ...(await store.sweep({ limit: 100 })),
      ].filter(({ resource }) => resource === leases[0]?.resource)
      checkEqual(idsOf(swept).toSorted(), idsOf(leases).toSorted(), 'what the sweeps returned')
    },
  },
  {
    title: 'takes over by token only from a lease that is alone',
    needs: ['share'],
    async run({ store, peer }) {
      const [a, b] = [await grab(store, 'alone', { share: 2 }), await grab(store, 'alone', { share: 2 })]
      for (const { token } of [a, b])
        await refused(peer, 'alone', 'a takeover from one of two', { replace: token })
      await store.release({ resource: 'alone', id: b.id })
      const { replaced } = granted(await peer.acquire(asking('alone', { replace: a.token })))
      checkEqual([replaced?.id, replaced?.state], [a.id, 'taken-over'], 'the replaced lease')
    },
  },
  {
    title: 'steals from all that hold, and tells each of them once',
    needs: ['share'],
    async run(under) {
      const { store, peer } = under
      const told: string[] = []
      for (const name of ['a', 'b']) await grab(store, 'stolen', { share: 2, lost: () => told.push(name) })
      const thief = granted(await peer.acquire(asking('stolen', { replace: 'any' })), 'a steal').lease
      await checkHeldBy(store, 'stolen', [thief])
      if (!under.supports.push) return
      await eventually(under, '`lost` of all holders is called', () => told.length >= 2)
      await under.pass(50)
      checkEqual(told.toSorted(), ['a', 'b'], 'who was told')
    },
  },
  {
    title: 'tells watchers of each of several leases',
    needs: ['share', 'push'],
    async run(under) {
      const { store, peer } = under
      const seen: string[] = []
      const watch = await peer.watch((event) => {
        if (event.type === 'change')
          seen.push(`${event.lease.token} ${event.lease.state} ${event.lease.share}`)
      })
      const [a, b] = [await grab(store, 'watched', { share: 2 }), await grab(store, 'watched', READER)]
      await store.release({ resource: 'watched', id: a.id })
      await store.release({ resource: 'watched', id: b.id })
      for (const text of [
        `${a.token} held 2`,
        `${b.token} held Infinity`,
        `${a.token} released 2`,
        `${b.token} released Infinity`,
      ])
        await eventually(under, `the watcher is told "${text}"`, () => seen.includes(text))
      await watch[Symbol.asyncDispose]()
    },
  },
  {
    title: 'never grants more than the permits, no matter who asks at once',
    needs: ['share'],
    async run({ store, peer }) {
      const answers = await Promise.all(
        Array.from({ length: 24 }, (_, n) =>
          (n % 2 ? peer : store).acquire(asking('rush', { share: 4 }), PATIENT),
        ),
      )
      const tokens = answers.flatMap((answer) => (answer.granted ? [answer.lease.token] : []))
      checkEqual(tokens.length, 4, 'how many of 24 requests for 4 permits were granted')
      checkEqual(new Set(tokens).size, 4, 'how many different tokens there are')
    },
  },
]

function brief({ id, owner, token, share }: LeaseRecord) {
  return { id, owner, token, share }
}

function sharesOf(leases: readonly LeaseRecord[]): (number | null)[] {
  return leases.map(({ share }) => share)
}
