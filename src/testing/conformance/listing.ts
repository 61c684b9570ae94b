import type { LeaseRecord } from '../../core/index.ts'
import { type Case, grab, idsOf, listAll } from './case.ts'
import { checkEqual } from './check.ts'

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
        'the leases of b, none, a and b',
      )
      checkEqual(await store.read([]), [], 'the leases of no resource')
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
        const found = await listAll(store, 'order:', limit)
        checkEqual(resourcesOf(found), names, `the names in the order of UTF-8, in pages of ${limit}`)
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
      checkEqual(await list('job:'), ['job:1', 'job:2'], 'the prefix job:')
      checkEqual(await list('job%'), ['job%'], 'the prefix job%')
      checkEqual(await list('jo_'), ['jo_'], 'the prefix jo_')
      checkEqual(await list('j*'), ['j*'], 'the prefix j*')
      checkEqual((await list('')).length, 7, 'how many there are with the empty prefix')
    },
  },
  {
    title: 'lists in pages that together have each lease once',
    needs: ['list'],
    async run({ store }) {
      const names = Array.from({ length: 11 }, (_, n) => `page:${String(n).padStart(2, '0')}`)
      for (const name of names.toReversed()) await grab(store, name)
      checkEqual(resourcesOf(await listAll(store, 'page:', 4)), names, 'the names, in pages of 4')
    },
  },
  {
    title: 'lists several leases of a resource, in pages of any size',
    needs: ['share', 'list'],
    async run({ store, peer }) {
      const leases = [await grab(store, 'list:a')]
      for (let n = 0; n < 5; n++) leases.push(await grab(n % 2 ? peer : store, 'list:b', { share: 5 }))
      leases.push(await grab(store, 'list:c', { share: Infinity }))
      for (const limit of [1, 2, 3, 7])
        checkEqual(
          idsOf(await listAll(peer, 'list:', limit)),
          idsOf(leases),
          `all leases by resource and token, in pages of ${limit}`,
        )
      const rest = await store.list({ prefix: 'list:', limit: 10, after: 'list:b' })
      checkEqual(resourcesOf(rest.leases), ['list:c'], 'what comes after the name list:b')
    },
  },
]

function resourcesOf(leases: readonly LeaseRecord[]): string[] {
  return leases.map(({ resource }) => resource)
}
