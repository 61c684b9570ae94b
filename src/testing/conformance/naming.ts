import { asking, type Case, grab, granted } from './case.ts'
import { check, checkEqual } from './check.ts'

const NAMES = [
  'a',
  'with space',
  ' leading and trailing ',
  '..',
  '.',
  '/',
  'a/b/../c',
  "quote's",
  'double"quote',
  'back\\slash',
  '{brace}',
  '}{',
  '%25',
  '*',
  '>',
  'a.b.>',
  '$injection$',
  "'; DROP TABLE leases; --",
  '__proto__',
  'constructor',
  'ドキュメント:四十二',
  '🔒🔑',
  'é',
  'x'.repeat(512),
  '界'.repeat(170),
]

export const namingCases: readonly Case[] = [
  {
    title: 'takes every name that is allowed, and keeps them apart',
    async run({ store, peer, supports }) {
      const leases = await Promise.all(NAMES.map((name, n) => grab(n % 2 ? store : peer, name)))
      const found = await peer.read(NAMES)
      checkEqual(
        found.map(([lease]) => lease?.id),
        leases.map((lease) => lease.id),
        'the leases by name',
      )
      checkEqual(
        found.map(([lease]) => lease?.resource),
        NAMES,
        'the names',
      )
      if (supports.list) {
        const { leases: listed } = await store.list({ limit: 100 })
        checkEqual(listed.map((lease) => lease.resource).sort(), NAMES.toSorted(), 'the list')
      }
      for (const [n, name] of NAMES.entries()) {
        const { ended } = await store.release({ resource: name, id: leases[n]?.id ?? '' })
        check(ended !== null, `${name} is released, got nothing`)
      }
    },
  },
  {
    title: 'keeps owners and metadata as they were given',
    async run({ store, peer }) {
      const owner = `Mika "the" O'Hara \\ 美香 🔒`
      const metadata = {
        text: `'"\\ \u2028 美香 🔒`,
        nested: { list: [1, -2.5, 1e21, true, null, 'x', {}], empty: [] },
        __proto__x: 'kept',
        'key with "quotes"': 0,
      }
      await grab(store, 'kept', { owner, metadata })
      const [[lease] = []] = await peer.read(['kept'])
      checkEqual(lease?.owner, owner, 'the owner')
      checkEqual(lease?.metadata, metadata, 'the metadata')
      const answer = await peer.acquire(asking('kept'))
      checkEqual(answer.granted ? null : answer.holders[0]?.metadata, metadata, 'what others are shown')
      const bare = granted(await store.acquire(asking('bare'))).lease
      checkEqual(bare.metadata, null, 'no metadata')
    },
  },
]
