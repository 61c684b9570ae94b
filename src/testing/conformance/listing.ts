import { type Case, grab } from './case.ts'
import { check, checkEqual } from './check.ts'

export const listingCases: readonly Case[] = [
  {
    title: 'reads several resources in the order in which they were asked for',
    async run({ store, peer }) {
      const a = await grab(store, 'a')
      const b = await grab(peer, 'b')
      const found = await store.read(['b', 'none', 'a', 'b'])
      checkEqual(
        found.map(([lease]) => lease?.id ?? null),
        [b.id, null, a.id, b.id],
        'the leases',
      )
      checkEqual(await store.read([]), [], 'nothing')
    },
  },
  {
    title: 'reads hundreds of names in one call',
    async run({ store, peer }) {
      const names = Array.from({ length: 300 }, (_, n) => `many:${n}`)
      const { id } = await grab(store, 'many:299')
      const found = await peer.read(names)
      checkEqual(found.length, 300, 'how many were read')
      checkEqual(found[299]?.[0]?.id, id, 'the last one')
    },
  },
  {
    title: 'lists in the order of UTF-8',
    needs: ['list'],
    async run({ store }) {
      // UTF-16 has the last two in the other order.
      const names = ['order:A', 'order:a', 'order:é', 'order:\ufb00', 'order:\u{1f600}']
      for (const name of names.toReversed()) await grab(store, name)
      for (const limit of [2, 100]) {
        const found: string[] = []
        let after: string | undefined
        do {
          const page = await store.list({ prefix: 'order:', limit, after })
          found.push(...page.leases.map(({ resource }) => resource))
          after = page.next
        } while (after !== undefined && found.length < 20)
        checkEqual(found, names, `the names, in pages of ${limit}`)
      }
    },
  },
  {
    title: 'lists live leases by prefix, taken literally',
    needs: ['list'],
    async run({ store, peer }) {
      for (const name of ['job:1', 'job:2', 'job%', 'jo_', 'Job:3', 'j*', 'other']) await grab(store, name)
      const freed = await grab(store, 'job:0')
      await store.release({ resource: 'job:0', id: freed.id })
      const list = async (prefix: string) => {
        const { leases } = await peer.list({ prefix, limit: 100 })
        return leases.map((lease) => lease.resource)
      }
      checkEqual(await list('job:'), ['job:1', 'job:2'], 'job:')
      checkEqual(await list('job%'), ['job%'], 'job%')
      checkEqual(await list('jo_'), ['jo_'], 'jo_')
      checkEqual(await list('j*'), ['j*'], 'j*')
      checkEqual((await list('')).length, 7, 'all')
    },
  },
  {
    title: 'lists in pages that together have each lease once',
    needs: ['list'],
    async run({ store }) {
      const names = Array.from({ length: 11 }, (_, n) => `page:${String(n).padStart(2, '0')}`)
      for (const name of names.toReversed()) await grab(store, name)
      const found: string[] = []
      let after: string | undefined
      do {
        const page = await store.list({ prefix: 'page:', limit: 4, ...(after !== undefined && { after }) })
        check(page.leases.length <= 4, 'a page keeps to its limit')
        found.push(...page.leases.map((lease) => lease.resource))
        after = page.next
      } while (after !== undefined && found.length < 50)
      checkEqual(found, names, 'the names')
    },
  },
]
