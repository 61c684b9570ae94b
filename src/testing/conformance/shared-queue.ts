/** The queue of a resource that several may hold together. */
import { RESERVATION_MS } from '../options.ts'
import { asking, type Case, grab, granted, refused, whileReserved } from './case.ts'
import { check, checkEqual } from './check.ts'
import { checkAsleep, queued, served, waits, woken } from './waiter.ts'

const READER = { share: Infinity }
const PAIR = { share: 2 }

export const sharedQueueCases: readonly Case[] = [
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
        const thief = granted(await store.acquire(asking(resource, { replace: 'any' })), 'a steal').lease
        await refused(peer, resource, 'a newcomer')
        // It has lost its turn, not its place.
        await waits(waiter, 0)
        waiter.wakes.length = 0
        await store.release({ resource, id: thief.id })
        await woken(under, waiter)
        await served(waiter)
      })
    },
  },
  {
    title: 'wakes all readers again whose turn was stolen',
    needs: ['share', 'queue'],
    async run(under) {
      const { store, peer } = under
      await whileReserved(under, 'stolen turns', async (resource, restart) => {
        const holder = await grab(store, resource)
        const first = await queued(peer, resource, 0, READER)
        restart()
        await store.release({ resource, id: holder.id })
        await woken(under, first)
        // The next call would give it its turn too, and is the steal.
        const second = await queued(peer, resource, 1, READER)
        const thief = granted(await store.acquire(asking(resource, { replace: 'any' })), 'a steal').lease
        await waits(first, 0)
        await waits(second, 1)
        for (const reader of [first, second]) reader.wakes.length = 0
        restart()
        await store.release({ resource, id: thief.id })
        for (const reader of [first, second]) await woken(under, reader)
        for (const reader of [first, second]) await served(reader)
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
        checkAsleep(next, 'it is a writer behind readers')
        for (const reader of readers) await served(reader)
        checkEqual((await peer.read([resource]))[0]?.length, 5, 'how many readers hold')
        for (const { ask } of readers) await store.release({ resource, id: ask.id })
        await woken(under, next)
        await served(next)
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
        const first = await queued(store, resource, 0, PAIR)
        const second = await queued(peer, resource, 1, PAIR)
        const third = await queued(store, resource, 2, PAIR)
        const fourth = await queued(peer, resource, 3, READER)
        restart()
        await store.release({ resource, id: writer.id })
        await woken(under, first)
        await woken(under, second)
        await served(second)
        await served(first)
        for (const later of [third, fourth]) checkAsleep(later, 'two hold, and share it between two')
        restart()
        await peer.release({ resource, id: second.ask.id })
        await woken(under, third)
        await served(third)
        checkAsleep(fourth, 'two hold, and share it between two')
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
        await refused(store, resource, 'a reader that does not wait', READER)
        const later = await queued(store, resource, 1, READER)
        restart()
        await store.release({ resource, id: reader.id })
        await woken(under, writer)
        checkAsleep(later, 'it is a reader behind a writer')
        await refused(peer, resource, 'a newcomer while the writer has its turn', READER)
        await served(writer)
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
        for (const reader of readers) await served(reader)
      })
    },
  },
  {
    title: 'frees the place of a woken reader that does not ask',
    needs: ['share', 'queue'],
    async run(under) {
      const { store, peer } = under
      const holder = await grab(store, 'absent reader')
      await queued(peer, 'absent reader', 0, PAIR)
      const present = await queued(store, 'absent reader', 1, PAIR)
      const third = await queued(store, 'absent reader', 2, PAIR)
      await store.release({ resource: 'absent reader', id: holder.id })
      await woken(under, present)
      await served(present)
      await under.pass(RESERVATION_MS * 1.1)
      await served(third)
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
      check(
        shares[0] === null && shares[1] === 3 && shares[2] === Infinity,
        `the shares are null, 3 and Infinity, got ${shares.map(String).join(', ')}`,
      )
    },
  },
]
