import type { LeaseStore } from '../../core/index.ts'
import { asking, type Case, eventually, grab, granted, whileHeld, whileReserved } from './case.ts'
import { check, checkEqual } from './check.ts'
import { queued, type Waiter, woken } from './waiter.ts'

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
            check(!later.wakes.includes(0), 'only the first waiter is woken')
          granted(await waiter.store.acquire(waiter.ask))
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
      for (const [waiter, place] of [
        [first, 0],
        [second, 1],
        [first, 0],
      ] as const) {
        const answer = await waiter.store.acquire(waiter.ask)
        check(!answer.granted && answer.place === place, `the place is still ${place}`)
        check((answer.retryIn ?? 0) > 0, 'it is told when to ask again')
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
        const answer = await store.acquire(asking(resource))
        check(!answer.granted, 'a newcomer does not overtake the queue')
        checkEqual(answer.holders, [], 'the holders')
        await woken(under, waiter)
        granted(await peer.acquire(waiter.ask))
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
      checkEqual(await ended(store, 'quitter', quitter.ask.id), null, 'what giving up ended')
      await store.release({ resource: 'quitter', id: holder.id })
      await woken(under, next)
      granted(await peer.acquire(next.ask))
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
      granted(await peer.acquire(next.ask))
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
      check(Math.min(...next.wakes) <= 1000, 'standby is a second at the most')
      await under.pass(1100)
      granted(await store.acquire(next.ask))
      const late = await peer.acquire(absent.ask)
      check(!late.granted && late.place === 0, 'the late waiter is in the queue again')
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
      check(!(await store.acquire(asking(old.resource))).granted, 'a newcomer does not overtake the queue')
      const { replaced } = granted(await peer.acquire(waiter.ask))
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
      granted(await peer.acquire(waiter.ask))
    },
  },
  {
    title: 'keeps the queue through a take-over',
    needs: ['queue'],
    async run(under) {
      const { store, peer } = under
      const old = await grab(store, 'through')
      const waiter = await queued(store, 'through', 0)
      const taken = granted(await peer.acquire(asking('through', { replace: old.token }))).lease
      await peer.release({ resource: 'through', id: taken.id })
      await woken(under, waiter)
      granted(await store.acquire(waiter.ask))
    },
  },
]

async function ended(store: LeaseStore, resource: string, id: string): Promise<string | null> {
  const { ended } = await store.release({ resource, id })
  return ended?.id ?? null
}
