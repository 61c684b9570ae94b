import type { Ask, LeaseStore } from '../../core/index.ts'
import { asking, type Case, eventually, grab, granted, whileHeld, whileReserved } from './case.ts'
import { check, checkEqual } from './check.ts'
import { queued, woken } from './waiter.ts'

const READER = { share: Infinity }

export const sharingCases: readonly Case[] = [
  {
    title: 'grants as many leases as their share allows, and no more',
    needs: ['share'],
    async run({ store, peer }) {
      const leases = []
      for (let n = 0; n < 3; n++) leases.push(await grab(n % 2 ? peer : store, 'permits', { share: 3 }))
      for (const other of [store, peer]) await refused(other, 'permits', { share: 3 }, 'the fourth of three')
      checkEqual(new Set(leases.map(({ id }) => id)).size, 3, 'different leases')
      checkEqual(
        leases.map(({ share }) => share),
        [3, 3, 3],
        'the share of each',
      )
      await peer.release({ resource: 'permits', id: leases[1]?.id ?? '' })
      await grab(peer, 'permits', { share: 3 })
      await refused(store, 'permits', { share: 3 }, 'one more than the permits')
    },
  },
  {
    title: 'counts the smallest share of the request and of all that hold',
    needs: ['share'],
    async run({ store, peer }) {
      await grab(store, 'smallest', { share: 5 })
      await refused(peer, 'smallest', { share: 1 }, 'a share of one beside another')
      await grab(peer, 'smallest', { share: 2 })
      await refused(store, 'smallest', { share: 5 }, 'a third beside a share of two')
      await refused(store, 'smallest', READER, 'a reader beside a share of two')
    },
  },
  {
    title: 'lets readers in together, and a writer only alone',
    needs: ['share'],
    async run({ store, peer }) {
      const readers = [await grab(store, 'text', READER), await grab(peer, 'text', READER)]
      check(
        readers.every(({ share }) => share === Infinity),
        'a reader has no limit',
      )
      await refused(peer, 'text', {}, 'a writer beside readers')
      for (const { id } of readers) await store.release({ resource: 'text', id })
      const writer = await grab(peer, 'text')
      checkEqual(writer.share, null, 'the share of a writer')
      await refused(store, 'text', READER, 'a reader beside a writer')
    },
  },
  {
    title: 'names every holder, oldest first',
    needs: ['share'],
    async run({ store, peer }) {
      const leases = []
      for (const owner of ['Ann', 'Ben', 'Cem']) leases.push(await grab(store, 'named', { share: 3, owner }))
      const tokens = leases.map(({ token }) => token)
      const expected = leases.map(({ id, owner, token }) => ({ id, owner, token, share: 3 }))
      const [found = []] = await peer.read(['named'])
      checkEqual(found.map(brief), expected, 'read')
      const answer = await refused(peer, 'named', {}, 'a writer')
      checkEqual(answer.holders.map(brief), expected, 'the holders of a refusal')
      checkEqual(
        tokens,
        tokens.toSorted((a, b) => a - b),
        'tokens that rise',
      )
      checkEqual(new Set(tokens).size, 3, 'different tokens')
      const renewal = await peer.renew({ resource: 'named', id: 'unknown', ttl: 1000 })
      check(!renewal.ok, 'an unknown id may not renew')
      checkEqual(renewal.holders.map(brief), expected, 'the holders of a refused renewal')
    },
  },
  {
    title: 'grants the same shared lease again to the same id',
    needs: ['share'],
    async run({ store, peer }) {
      const ask = asking('again', { share: 2 })
      const first = granted(await store.acquire(ask)).lease
      const again = granted(await peer.acquire(ask)).lease
      checkEqual([again.token, again.share], [first.token, 2], 'the token and share')
      checkEqual((await store.read(['again']))[0]?.length, 1, 'how many leases there are')
      await grab(peer, 'again', { share: 2 })
      checkEqual(granted(await store.acquire(ask)).lease.token, first.token, 'the token beside another')
    },
  },
  {
    title: 'renews and releases one of several',
    needs: ['share'],
    async run({ store, peer }) {
      const [a, b] = [await grab(store, 'several', { share: 2 }), await grab(peer, 'several', { share: 2 })]
      const renewal = await peer.renew({ resource: 'several', id: a.id, ttl: 700_000 })
      check(renewal.ok, 'one of several may renew')
      checkEqual([renewal.lease.token, renewal.lease.share], [a.token, 2], 'the renewed lease')
      const { ended } = await store.release({ resource: 'several', id: a.id })
      checkEqual([ended?.id, ended?.state], [a.id, 'released'], 'the released lease')
      const [holders = []] = await peer.read(['several'])
      checkEqual(
        holders.map(({ id }) => id),
        [b.id],
        'those that still hold',
      )
      check(!(await store.renew({ resource: 'several', id: a.id, ttl: 1000 })).ok, 'a released lease is over')
      check((await store.renew({ resource: 'several', id: b.id, ttl: 1000 })).ok, 'the other is live')
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
      await eventually(under, 'the holder is told', () => told.length > 0)
      check((await peer.renew({ resource: 'forced', id: b.id, ttl: 10_000 })).ok, 'the other is live')
      await under.pass(50)
      checkEqual(told, ['a'], 'who was told')
    },
  },
  {
    title: 'lets one of several expire alone',
    needs: ['share', 'expiry'],
    async run(under) {
      const { store, peer } = under
      const { brief: short, live } = await whileHeld(under, 'one expires', async (resource, ttl) => {
        const brief = await grab(store, resource, { share: 2, ttl })
        const live = await grab(peer, resource, { share: 2 })
        await refused(peer, resource, { share: 2 }, 'a third of two')
        return { brief, live }
      })
      await under.pass((short.remaining ?? 0) * 1.2)
      const [found = []] = await store.read([short.resource])
      checkEqual(
        found.map(({ id }) => id),
        [live.id],
        'the live lease',
      )
      const { replaced } = granted(await peer.acquire(asking(short.resource, { share: 2 })))
      checkEqual([replaced?.id, replaced?.state], [short.id, 'expired'], 'the replaced lease')
    },
  },
  {
    title: 'returns each of several expired leases from one sweep only',
    needs: ['share', 'expiry'],
    async run(under) {
      const { store, peer } = under
      const { leases, ttl, name } = await whileHeld(under, 'swept', async (resource, ttl) => {
        const leases = []
        for (let n = 0; n < 3; n++) leases.push(await grab(store, resource, { share: 3, ttl }))
        checkEqual((await store.read([resource]))[0]?.length, 3, 'how many are live')
        return { leases, ttl, name: resource }
      })
      await under.pass(ttl * 1.2)
      const swept = [
        ...(await store.sweep({ limit: 2 })),
        ...(await peer.sweep({ limit: 100 })),
        ...(await store.sweep({ limit: 100 })),
      ].filter(({ resource }) => resource === name)
      checkEqual(
        swept.map(({ id }) => id).toSorted(),
        leases.map(({ id }) => id).toSorted(),
        'what the sweeps returned',
      )
    },
  },
  {
    title: 'takes over by token only from a lease that is alone',
    needs: ['share'],
    async run({ store, peer }) {
      const [a, b] = [await grab(store, 'alone', { share: 2 }), await grab(store, 'alone', { share: 2 })]
      for (const { token } of [a, b])
        await refused(peer, 'alone', { replace: token }, 'one of two is replaced')
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
      const thief = granted(await peer.acquire(asking('stolen', { replace: 'any' }))).lease
      const [found = []] = await store.read(['stolen'])
      checkEqual(
        found.map(({ id }) => id),
        [thief.id],
        'the only holder',
      )
      await eventually(under, 'all holders are told', () => told.length >= 2)
      await under.pass(50)
      checkEqual(told.toSorted(), ['a', 'b'], 'who was told')
    },
  },
  {
    title: 'steals past the queue, which stays',
    needs: ['share', 'queue'],
    async run(under) {
      const { store, peer } = under
      await whileReserved(under, 'stolen turn', async (resource, restart) => {
        const holder = await grab(store, resource)
        const waiter = await queued(peer, resource, 0)
        restart()
        await store.release({ resource, id: holder.id })
        await woken(under, waiter)
        const thief = granted(await store.acquire(asking(resource, { replace: 'any' }))).lease
        await refused(peer, resource, {}, 'a newcomer')
        const late = await peer.acquire(waiter.ask)
        check(!late.granted && late.place === 0, 'the waiter has lost its turn, not its place')
        waiter.wakes.length = 0
        await store.release({ resource, id: thief.id })
        await woken(under, waiter)
        granted(await peer.acquire(waiter.ask))
      })
    },
  },
  {
    title: 'wakes all readers together when a writer ends',
    needs: ['share', 'queue'],
    async run(under) {
      const { store, peer } = under
      await whileReserved(under, 'together', async (resource, restart) => {
        const writer = await grab(store, resource)
        const readers = []
        for (let n = 0; n < 5; n++) readers.push(await queued(n % 2 ? peer : store, resource, n, READER))
        const next = await queued(peer, resource, 5)
        restart()
        await store.release({ resource, id: writer.id })
        for (const reader of readers) await woken(under, reader)
        check(!next.wakes.includes(0), 'the writer behind them is not woken')
        for (const reader of readers) granted(await reader.store.acquire(reader.ask))
        checkEqual((await peer.read([resource]))[0]?.length, 5, 'how many hold')
        for (const { ask } of readers) await store.release({ resource, id: ask.id })
        await woken(under, next)
        granted(await peer.acquire(next.ask))
      })
    },
  },
  {
    title: 'wakes the longest part of the queue that fits, in its order',
    needs: ['share', 'queue'],
    async run(under) {
      const { store, peer } = under
      await whileReserved(under, 'prefix', async (resource, restart) => {
        const writer = await grab(store, resource)
        const [first, second] = [
          await queued(store, resource, 0, { share: 2 }),
          await queued(peer, resource, 1, { share: 2 }),
        ]
        const [third, fourth] = [
          await queued(store, resource, 2, { share: 2 }),
          await queued(peer, resource, 3, READER),
        ]
        restart()
        await store.release({ resource, id: writer.id })
        await woken(under, first)
        await woken(under, second)
        granted(await peer.acquire(second.ask))
        granted(await store.acquire(first.ask))
        check(!third.wakes.includes(0) && !fourth.wakes.includes(0), 'those who do not fit are not woken')
        restart()
        await peer.release({ resource, id: second.ask.id })
        await woken(under, third)
        granted(await store.acquire(third.ask))
        check(!fourth.wakes.includes(0), 'the last one does not fit yet')
      })
    },
  },
  {
    title: 'lets no reader pass a writer that waits',
    needs: ['share', 'queue'],
    async run(under) {
      const { store, peer } = under
      await whileReserved(under, 'no barging', async (resource, restart) => {
        const reader = await grab(store, resource, READER)
        const writer = await queued(peer, resource, 0)
        await refused(store, resource, READER, 'a reader that does not wait')
        const later = await queued(store, resource, 1, READER)
        restart()
        await store.release({ resource, id: reader.id })
        await woken(under, writer)
        check(!later.wakes.includes(0), 'the reader behind the writer is not woken')
        await refused(peer, resource, READER, 'a newcomer while the writer has its turn')
        granted(await peer.acquire(writer.ask))
      })
    },
  },
  {
    title: 'wakes those behind a writer that gives up',
    needs: ['share', 'queue'],
    async run(under) {
      const { store, peer } = under
      await whileReserved(under, 'quitting writer', async (resource, restart) => {
        await grab(store, resource, READER)
        const writer = await queued(peer, resource, 0)
        const readers = [await queued(store, resource, 1, READER), await queued(peer, resource, 2, READER)]
        restart()
        await peer.release({ resource, id: writer.ask.id })
        for (const reader of readers) await woken(under, reader)
        for (const reader of readers) granted(await reader.store.acquire(reader.ask))
      })
    },
  },
  {
    title: 'frees the place of a woken reader that does not ask',
    needs: ['share', 'queue'],
    async run(under) {
      const { store, peer } = under
      const holder = await grab(store, 'absent reader')
      await queued(peer, 'absent reader', 0, { share: 2 })
      const present = await queued(store, 'absent reader', 1, { share: 2 })
      const third = await queued(store, 'absent reader', 2, { share: 2 })
      await store.release({ resource: 'absent reader', id: holder.id })
      await woken(under, present)
      granted(await store.acquire(present.ask))
      await under.pass(1100)
      granted(await store.acquire(third.ask))
    },
  },
  {
    title: 'tells the shares of those who wait',
    needs: ['share', 'queue'],
    async run({ store, peer }) {
      await grab(store, 'shown')
      for (const [n, share] of [undefined, 3, Infinity].entries())
        await queued(n % 2 ? peer : store, 'shown', n, { share })
      const [queue] = (await peer.waiting?.({ resources: ['shown'], limit: 10 })) ?? []
      const shares = queue?.first.map(({ share }) => share) ?? []
      check(shares[0] === null && shares[1] === 3 && shares[2] === Infinity, `the shares, got ${shares}`)
    },
  },
  {
    title: 'lists several leases of a resource, in pages of any size',
    needs: ['share', 'list'],
    async run({ store, peer }) {
      const leases = [await grab(store, 'list:a')]
      for (let n = 0; n < 5; n++) leases.push(await grab(n % 2 ? peer : store, 'list:b', { share: 5 }))
      leases.push(await grab(store, 'list:c', READER))
      for (const limit of [1, 2, 3, 7]) {
        const found: string[] = []
        let after: string | undefined
        do {
          const page = await peer.list({ prefix: 'list:', limit, after })
          check(page.leases.length <= limit, `at most ${limit} leases, got ${page.leases.length}`)
          found.push(...page.leases.map(({ id }) => id))
          after = page.next
        } while (after !== undefined && found.length < 20)
        checkEqual(
          found,
          leases.map(({ id }) => id),
          `all leases in pages of ${limit}`,
        )
      }
      const rest = await store.list({ prefix: 'list:', limit: 10, after: 'list:b' })
      checkEqual(
        rest.leases.map(({ resource }) => resource),
        ['list:c'],
        'after a name',
      )
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
      const expected = [
        `${a.token} held 2`,
        `${b.token} held Infinity`,
        `${a.token} released 2`,
        `${b.token} released Infinity`,
      ]
      await eventually(under, 'the watcher hears of all', () => expected.every((text) => seen.includes(text)))
      await watch[Symbol.asyncDispose]()
    },
  },
  {
    title: 'never grants more than the permits, whoever asks at once',
    needs: ['share'],
    async run({ store, peer }) {
      const asks = Array.from({ length: 24 }, (_, n) =>
        (n % 2 ? peer : store).acquire(asking('rush', { share: 4 })),
      )
      const answers = await Promise.all(asks)
      checkEqual(answers.filter((answer) => answer.granted).length, 4, 'how many were granted')
      const tokens = answers.flatMap((answer) => (answer.granted ? [answer.lease.token] : []))
      checkEqual(new Set(tokens).size, 4, 'different tokens')
    },
  },
]

async function refused(store: LeaseStore, resource: string, more: Partial<Ask>, what: string) {
  const answer = await store.acquire(asking(resource, more))
  if (answer.granted) throw new Error(`${what}: expected a refusal, got token ${answer.lease.token}`)
  return answer
}

function brief({
  id,
  owner,
  token,
  share,
}: {
  id: string
  owner: string
  token: number
  share: number | null
}) {
  return { id, owner, token, share }
}
