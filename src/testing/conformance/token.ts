import type { LeaseStore } from '../../core/index.ts'
import {
  asking,
  type Case,
  grab,
  grabSoon,
  granted,
  refused,
  type StoreUnderTest,
  whileHeld,
} from './case.ts'
import { check } from './check.ts'

const HOUR_MS = 3_600_000

export const tokenCases: readonly Case[] = [
  {
    title: 'raises the token with every grant',
    async run({ store, peer }) {
      let last = 0
      for (let round = 0; round < 20; round++) {
        const from = round % 2 ? store : peer
        last = rises(last, await takeAndRelease(from, 'rising'))
      }
    },
  },
  {
    title: 'raises the token across expiry and sweep',
    needs: ['expiry'],
    async run(under) {
      const { store, peer, ttl } = under
      let last = (await grab(store, 'lapsing', { ttl })).token
      await under.pass(ttl * 1.5)
      last = rises(last, (await grabSoon(under, peer, 'lapsing', { ttl })).lease.token)
      await under.pass(ttl * 1.5)
      await store.sweep({ limit: 100 })
      rises(last, (await grabSoon(under, store, 'lapsing')).lease.token)
    },
  },
  {
    title: 'raises the token for an id whose lease has expired',
    needs: ['expiry'],
    async run(under) {
      const { store, peer, ttl } = under
      const ask = asking('comes back', { ttl })
      const { token } = granted(await store.acquire(ask)).lease
      await under.pass(ttl * 1.5)
      rises(token, (await grabSoon(under, peer, 'comes back', { id: ask.id })).lease.token)
    },
  },
  {
    title: 'raises the token across a restart',
    needs: ['reopen'],
    async run(under) {
      let last = await takeAndRelease(under.store, 'restarted')
      const again = await under.reopen()
      last = rises(last, await takeAndRelease(again, 'restarted'))
      await again.close()
    },
  },
  {
    title: 'raises the token when the clock steps back',
    needs: ['stepClock'],
    async run(under) {
      let last = await takeAndRelease(under.store, 'stepped')
      for (const step of [-HOUR_MS, -24 * HOUR_MS, 48 * HOUR_MS, -23 * HOUR_MS]) {
        under.stepClock(step)
        await under.store.sweep({ limit: 100 })
        last = rises(last, await takeAndRelease(under.store, 'stepped'))
      }
    },
  },
  {
    title: 'raises the token though a sweep forgot the resource and the clock was ahead',
    needs: ['stepClock'],
    async run(under) {
      under.stepClock(24 * HOUR_MS)
      const last = await takeAndRelease(under.store, 'forgotten')
      under.stepClock(2 * HOUR_MS)
      await sweepAll(under)
      under.stepClock(-26 * HOUR_MS)
      rises(last, await takeAndRelease(under.store, 'forgotten'))
    },
  },
  {
    title: 'a clock that steps back lengthens no lease beyond its TTL',
    needs: ['stepClock', 'expiry'],
    async run(under) {
      const { store } = under
      const { resource, ttl } = await whileHeld(under, 'long', async (resource, ttl) => {
        await grab(store, resource, { ttl })
        under.stepClock(-24 * HOUR_MS)
        const [[shown] = []] = await store.read([resource])
        const { holders } = await refused(store, resource, 'a newcomer after the clock stepped back')
        for (const lease of [shown, ...holders])
          check(
            (lease?.remaining ?? Infinity) <= ttl,
            `at most the TTL of ${ttl} ms is left, got ${lease?.remaining}`,
          )
        return { resource, ttl }
      })
      await under.pass(ttl + 1)
      granted(await store.acquire(asking(resource)))
    },
  },
]

async function takeAndRelease(store: LeaseStore, resource: string): Promise<number> {
  const { id, token } = await grab(store, resource)
  await store.release({ resource, id })
  return token
}

async function sweepAll(under: StoreUnderTest): Promise<void> {
  for (let round = 0; round < 3; round++) await under.store.sweep({ limit: 100 })
}

function rises(last: number, token: number): number {
  check(token > last, `a later token is higher than ${last}, got ${token}`)
  return token
}
