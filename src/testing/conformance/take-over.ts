import { asking, type Case, eventually, grab, granted, LONG_MS } from './case.ts'
import { check, checkEqual } from './check.ts'

export const takeOverCases: readonly Case[] = [
  {
    title: 'takes over from the holder with the given token',
    async run({ store, peer }) {
      const old = await grab(store, 'taken', { owner: 'Mika' })
      const { lease, replaced } = granted(await peer.acquire(asking('taken', { replace: old.token })))
      check(lease.token > old.token, 'the token rises')
      checkEqual([replaced?.id, replaced?.state], [old.id, 'taken-over'], 'the replaced lease')
      const renewal = await store.renew({ resource: 'taken', id: old.id, ttl: LONG_MS })
      checkEqual([renewal.ok, !renewal.ok && renewal.holders[0]?.id], [false, lease.id], 'the old renewal')
      checkEqual((await store.release({ resource: 'taken', id: old.id })).ended, null, 'the old release')
    },
  },
  {
    title: 'refuses to take over from another token',
    async run({ store, peer }) {
      const old = await grab(store, 'not taken')
      const answer = await peer.acquire(asking('not taken', { replace: old.token - 1 }))
      check(!answer.granted, 'it is refused')
      checkEqual(answer.holders[0]?.id, old.id, 'the holder')
    },
  },
  {
    title: 'lets one of several take over',
    async run({ store, peer }) {
      const old = await grab(store, 'rush')
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          (n % 2 ? store : peer).acquire(asking('rush', { replace: old.token })),
        ),
      )
      checkEqual(answers.filter((answer) => answer.granted).length, 1, 'grants')
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
