/** When waiters are told to ask again, if nobody wakes them: the holders of permits may be dead. */

import type { LeaseStore, Refusal } from '../../core/index.ts'
import { LONG_MS, RESERVATION_MS, STEP_MS } from '../options.ts'
import { asking, type Case, grab, granted, refused, whileHeld } from './case.ts'
import { check } from './check.ts'

const PERMITS = { share: 5 }
/** The times of one answer may be rounded, or corrected for the way. */
const TOLERANCE_MS = RESERVATION_MS / 4

export const askingAgainCases: readonly Case[] = [
  {
    title: 'has each waiter for a permit ask when its permit expires',
    needs: ['share', 'queue', 'expiry'],
    async run({ store, peer }) {
      for (let n = 0; n < 5; n++)
        await grab(n % 2 ? store : peer, 'in steps', { ...PERMITS, ttl: LONG_MS + n * STEP_MS })
      for (let place = 0; place < 5; place++) {
        const answer = await refusedWaiter(place % 2 ? peer : store, 'in steps')
        checkAsksInTime(answer, place)
      }
    },
  },
  {
    title: 'has waiters ask together when several permits expire together',
    needs: ['share', 'queue', 'expiry'],
    async run({ store, peer }) {
      for (let n = 0; n < 5; n++) await grab(store, 'together', PERMITS)
      for (let place = 0; place < 5; place++) {
        const answer = await refusedWaiter(peer, 'together')
        checkAsksInTime(answer, place)
      }
    },
  },
  {
    title: 'serves each waiter for a permit when it asks as it was told',
    needs: ['share', 'queue', 'expiry'],
    async run(under) {
      const { store, peer } = under
      await whileHeld(under, 'served in steps', async (resource, ttl) => {
        for (let n = 0; n < 3; n++) await grab(store, resource, { share: 3, ttl: ttl + n * STEP_MS })
        const waiters = []
        for (let n = 0; n < 3; n++) {
          const ask = asking(resource, { share: 3, wake: () => {} })
          const answer = await peer.acquire(ask)
          check(!answer.granted, `waiter ${n} is refused, got a grant`)
          const askAt = under.elapsed() + (answer.granted ? 0 : (answer.retryIn ?? 0))
          waiters.push({ ask, askAt })
        }
        for (const { ask, askAt } of waiters) {
          await under.pass(Math.max(1, askAt - under.elapsed()))
          let answer = await peer.acquire(ask)
          // A store may tell a time that is too early, but only a little.
          for (let tries = 0; !answer.granted && tries < 5; tries++) {
            await under.pass((answer.retryIn ?? 0) + 1)
            answer = await peer.acquire(ask)
          }
          granted(answer, ask.owner)
        }
      })
    },
  },
]

function refusedWaiter(store: LeaseStore, resource: string): Promise<Refusal> {
  return refused(store, resource, 'a waiter for a sixth permit', { ...PERMITS, wake: () => {} })
}

/** If everybody before it takes a permit, the permit that expires at its place is its own. */
function checkAsksInTime({ holders, retryIn }: Refusal, place: number): void {
  const ends = holders.map(({ remaining }) => remaining ?? Infinity).sort((a, b) => a - b)
  const end = ends[place] ?? Infinity
  check(
    (retryIn ?? Infinity) <= end + TOLERANCE_MS,
    `the waiter at place ${place} asks again when permit ${place} expires, in ${end} ms, got ${retryIn}`,
  )
}
