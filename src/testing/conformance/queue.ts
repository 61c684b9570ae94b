import type { LeaseStore } from '../../core/index.ts'
import { RESERVATION_MS } from '../options.ts'
import {
  asking,
  type Case,
  eventually,
  grab,
  granted,
  idsOf,
  PATIENT,
  refused,
  whileHeld,
  whileReserved,
} from './case.ts'
import { check, checkEqual } from './check.ts'
import { checkAsleep, queued, served, type Waiter, waits, woken } from './waiter.ts'

export const queueCases: readonly Case[] = [
  {
    title: 'serves waiters first in, first out, across processes',
    needs: ['queue'],
    async run(under) {
      const { store, peer } = under
      await whileReserved(under, 'queue', async (resource, restart) => {
        const holder = await grab(store, resource)
        const waiters: Waiter[] = []
        for (let n = 0; n < 4; n++) waiters.push(await queued(n % 2 ? peer : store, resource, n))
        let holding: { store: LeaseStore; id: string } = { store, id: holder.id }
        for (const waiter of waiters) {
          restart()
          await holding.store.release({ resource, id: holding.id })
          await woken(under, waiter)
          for (const later of waiters.slice(waiters.indexOf(waiter) + 1))
            checkAsleep(later, 'only the first waiter is woken')
          await served(waiter)
          holding = { store: waiter.store, id: waiter.ask.id }
        }
      })
    },
  },
  {
    title: 'keeps the place of a waiter that asks again',
    needs: ['queue'],
    async run({ store, peer }) {
      await grab(store, 'place')
      const first = await queued(store, 'place', 0)
      const second = await queued(peer, 'place', 1)
      await waits(first, 0)
      await waits(second, 1)
      // A repetition without `wake` keeps the place.
      await waits(first, 0, { wake: undefined as never })
      await waits(second, 1)
    },
  },
  {
    title: 'keeps the place of a waiter that goes on at another process, when the first process ends',
    needs: ['queue'],
    async run({ store, peer, hasPeer, pass }) {
      if (!hasPeer) return
      const resource = 'moving'
      const holder = await grab(peer, resource)
      await queued(store, resource, 0)
      const moved = { ...(await queued(store, resource, 1)), store: peer }
      const later = await queued(peer, resource, 2)
      await waits(moved, 1)
      await peer.release({ resource, id: holder.id })
      // The others of the first process lose their places with the one that misses its turn.
      await pass(RESERVATION_MS * 1.2)
      await served(moved)
      await waits(later, 0)
      const last = { ...(await queued(store, resource, 1)), store: peer }
      const behind = await queued(peer, resource, 2)
      await waits(last, 1)
      await store.close()
      await waits(behind, 2)
      await waits(last, 1)
    },
  },
  {
    title: 'places requests that are made at once in the order of their calls',
    needs: ['queue'],
    async run({ store }) {
      await grab(store, 'at once')
      const calls = Array.from({ length: 20 }, () =>
        store.acquire(asking('at once', { wake: () => {} }), PATIENT),
      )
      const places = (await Promise.all(calls)).map((answer) => (answer.granted ? 'granted' : answer.place))
      checkEqual(places, [...places.keys()], 'the places of the requests, in the order of their calls')
    },
  },
  {
    title: 'places a request before a release that is called after it',
    needs: ['queue'],
    async run(under) {
      const { store } = under
      let { id } = await grab(store, 'overtaken')
      for (let n = 0; n < 10; n++) {
        const next = asking('overtaken', { wake: () => {} })
        const [answer] = await Promise.all([
          store.acquire(next, PATIENT),
          store.release({ resource: 'overtaken', id }),
        ])
        check(!answer.granted, `request ${n} was called before the release, got a grant to ${next.owner}`)
        granted(await store.acquire(next), next.owner)
        id = next.id
      }
    },
  },
  {
    title: 'keeps a freed resource for the first waiter',
    needs: ['queue'],
    async run(under) {
      const { store, peer } = under
      await whileReserved(under, 'kept', async (resource, restart) => {
        const holder = await grab(store, resource)
        const waiter = await queued(peer, resource, 0)
        restart()
        await store.release({ resource, id: holder.id })
        const { holders } = await refused(store, resource, 'a newcomer that would pass the queue')
        checkEqual(idsOf(holders), [], 'the holders of a reserved resource')
        await woken(under, waiter)
        await under.pass(RESERVATION_MS / 2)
        await refused(store, resource, 'a newcomer after half of the reservation')
        await served(waiter)
      })
    },
  },
  {
    title: 'forgets a waiter that gave up',
    needs: ['queue'],
    async run(under) {
      const { store, peer } = under
      const holder = await grab(store, 'quitter')
      const quitter = await queued(store, 'quitter', 0)
      const next = await queued(peer, 'quitter', 1)
      const { ended } = await store.release({ resource: 'quitter', id: quitter.ask.id })
      checkEqual(ended, null, 'the lease that giving up ended')
      await store.release({ resource: 'quitter', id: holder.id })
      await woken(under, next)
      await served(next)
    },
  },
  {
    title: 'forgets a waiter that gave up after its request was aborted',
    needs: ['queue'],
    async run(under) {
      const { store, peer } = under
      const holder = await grab(store, 'aborting')
      const quitter = await queued(store, 'aborting', 0)
      const next = await queued(peer, 'aborting', 1)
      await store.acquire(quitter.ask, { signal: AbortSignal.abort() }).catch(() => {})
      await store.release({ resource: 'aborting', id: quitter.ask.id })
      await waits(next, 0)
      await store.release({ resource: 'aborting', id: holder.id })
      await woken(under, next)
      await served(next)
    },
  },
  {
    title: 'wakes the next waiter when the first gives up its turn',
    needs: ['queue'],
    async run(under) {
      const { store, peer } = under
      const holder = await grab(store, 'turn')
      const quitter = await queued(store, 'turn', 0)
      const next = await queued(peer, 'turn', 1)
      await store.release({ resource: 'turn', id: holder.id })
      await woken(under, quitter)
      await store.release({ resource: 'turn', id: quitter.ask.id })
      await woken(under, next)
      await served(next)
    },
  },
  {
    title: 'skips a waiter that does not ask when it is woken, within about a second',
    needs: ['queue'],
    async run(under) {
      const { store, peer } = under
      const holder = await grab(store, 'absent')
      const absent = await queued(peer, 'absent', 0)
      const next = await queued(store, 'absent', 1)
      await store.release({ resource: 'absent', id: holder.id })
      await eventually(under, 'the second is put on standby', () => next.wakes.length > 0)
      const standby = Math.min(...next.wakes)
      check(
        standby <= RESERVATION_MS,
        `the second waiter asks again within ${RESERVATION_MS} ms, got ${standby}`,
      )
      await under.pass(RESERVATION_MS * 1.1)
      await served(next)
      await waits(absent, 0)
    },
  },
  {
    title: 'gives an expired lease to the first waiter',
    needs: ['queue', 'expiry'],
    async run(under) {
      const { store, peer } = under
      const { old, waiter, ttl } = await whileHeld(under, 'expiring', async (resource, ttl) => {
        const old = await grab(store, resource, { ttl })
        return { old, waiter: await queued(peer, resource, 0), ttl }
      })
      await under.pass(ttl * 1.2)
      await refused(store, old.resource, 'a newcomer that would pass the queue')
      const { replaced } = granted(await peer.acquire(waiter.ask), 'the first waiter')
      checkEqual(replaced?.id, old.id, 'the replaced lease')
    },
  },
  {
    title: 'wakes the first waiter when a lease is ended by force',
    needs: ['queue'],
    async run(under) {
      const { store, peer } = under
      const holder = await grab(store, 'forced turn')
      const waiter = await queued(peer, 'forced turn', 0)
      await store.release({ resource: 'forced turn', token: holder.token })
      await woken(under, waiter)
      await served(waiter)
    },
  },
  {
    title: 'keeps the queue through a takeover',
    needs: ['queue'],
    async run(under) {
      const { store, peer } = under
      const old = await grab(store, 'through')
      const waiter = await queued(store, 'through', 0)
      const taken = granted(await peer.acquire(asking('through', { replace: old.token }))).lease
      await peer.release({ resource: 'through', id: taken.id })
      await woken(under, waiter)
      await served(waiter)
    },
  },
]
