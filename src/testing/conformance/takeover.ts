import { LONG_MS } from '../options.ts'
import { asking, type Case, eventually, grab, granted, idsOf, notRenewed, PATIENT, refused } from './case.ts'
import { check, checkEqual } from './check.ts'

export const takeoverCases: readonly Case[] = [
  {
    title: 'takes over from the holder with the given token',
    async run({ store, peer }) {
      const old = await grab(store, 'taken', { owner: 'Mika' })
      const { lease, replaced } = granted(await peer.acquire(asking('taken', { replace: old.token })))
      check(lease.token > old.token, `the token rises from ${old.token}, got ${lease.token}`)
      checkEqual([replaced?.id, replaced?.state], [old.id, 'taken-over'], 'the replaced lease')
      const ask = { resource: 'taken', id: old.id, ttl: LONG_MS }
      const holders = await notRenewed(store, ask, 'a holder that was taken over')
      checkEqual(idsOf(holders), [lease.id], 'the holders that its refused renewal names')
      checkEqual(
        (await store.release({ resource: 'taken', id: old.id })).ended,
        null,
        'what the release by the old holder ended',
      )
    },
  },
  {
    title: 'refuses to take over from another token',
    async run({ store, peer }) {
      const old = await grab(store, 'not taken')
      const { holders } = await refused(peer, 'not taken', 'a takeover from another token', {
        replace: old.token - 1,
      })
      checkEqual(idsOf(holders), [old.id], 'the holders')
    },
  },
  {
    title: 'lets one of several take over',
    async run({ store, peer }) {
      const old = await grab(store, 'rush')
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          (n % 2 ? store : peer).acquire(asking('rush', { replace: old.token }), PATIENT),
        ),
      )
      checkEqual(
        answers.filter((answer) => answer.granted).length,
        1,
        'how many of ten takeovers from one token were granted',
      )
    },
  },
  {
    title: 'tells the holder that it was taken over',
    needs: ['push'],
    async run(under) {
      const { store, peer } = under
      let told = 0
      const old = await grab(store, 'told', { lost: () => told++ })
      granted(await peer.acquire(asking('told', { replace: old.token })))
      await eventually(under, 'the holder is told', () => told > 0)
      checkEqual(told, 1, 'the calls of lost')
    },
  },
]
