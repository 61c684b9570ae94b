/** Mistakes about those who wait. */
import type { Ask, LeaseStore, ReleaseAsk } from '../../core/index.ts'
import { mutants, timeOf } from './mutant.ts'

export const queueMutants = mutants({
  'forced release that wakes nobody': {
    caughtBy: 'wakes the first waiter when a lease is ended by force',
    mutate: (store) => whileCalling(store, (by) => 'token' in by),
  },
  'release that wakes nobody': {
    caughtBy: 'serves waiters first in, first out, across processes',
    mutate: (store) => whileCalling(store, () => true),
  },
  'newcomer that overtakes the queue': {
    caughtBy: 'keeps a freed resource for the first waiter',
    mutate: (store) => overtaking(store, () => true),
  },
  'newcomer that overtakes the queue when a lease runs out': {
    caughtBy: 'gives an expired lease to the first waiter',
    mutate(store) {
      const released = new Set<string>()
      const mutant = overtaking(store, ({ resource }) => !released.has(resource))
      return {
        ...mutant,
        async release(by) {
          released.add(by.resource)
          return store.release(by)
        },
      }
    },
  },
  'queue that is served from its end': {
    caughtBy: 'serves waiters first in, first out, across processes',
    mutate(store) {
      const wakes: Ask['wake'][] = []
      return {
        acquire(ask) {
          if (ask.wake) wakes.push(ask.wake)
          return store.acquire({ ...ask, ...(ask.wake && { wake: (inMs: number) => wakes.at(-1)?.(inMs) }) })
        },
      }
    },
  },
  'second waiter that is never put on standby': {
    caughtBy: 'skips a waiter that does not ask when it is woken, within about a second',
    mutate: (store) => ({
      acquire: (ask) => {
        const { wake } = ask
        const onlyNow = (inMs: number) => inMs === 0 && wake?.(inMs)
        return store.acquire({ ...ask, ...(wake && { wake: onlyNow }) })
      },
    }),
  },
  'waiters for permits that ask one second after each other': {
    caughtBy: 'has each waiter for a permit ask when its permit expires',
    mutate: (store) => ({
      async acquire(ask) {
        const answer = await store.acquire(ask)
        if (answer.granted || ask.share === undefined) return answer
        const soonest = Math.min(...answer.holders.map(({ remaining }) => remaining ?? 0))
        return { ...answer, retryIn: soonest + (answer.place ?? 0) * 1000 }
      },
    }),
  },
  'place that counts the waiter itself': {
    caughtBy: 'keeps the place of a waiter that asks again',
    mutate: (store) => ({
      async acquire(ask) {
        const answer = await store.acquire(ask)
        return answer.granted || answer.place === null ? answer : { ...answer, place: answer.place + 1 }
      },
    }),
  },
  'reservation that a waiter who gives up leaves behind': {
    caughtBy: 'wakes the next waiter when the first gives up its turn',
    mutate(store) {
      const called = new Set<string>()
      return {
        acquire(ask) {
          const { id, wake } = ask
          const noted = (inMs: number) => {
            if (inMs === 0) called.add(id)
            wake?.(inMs)
          }
          return store.acquire({ ...ask, ...(wake && { wake: noted }) })
        },
        release: async (by) =>
          'id' in by && called.delete(by.id) ? { ended: null, holders: [] } : store.release(by),
      }
    },
  },
  'waiting that also shows the holder': {
    caughtBy: 'does not show a waiter that was granted the lease',
    mutate: (store) => ({
      async waiting(query) {
        const queues = (await store.waiting?.(query)) ?? []
        const holders = await store.read(query.resources)
        return queues.map(({ count, first }, n) => {
          const [holder] = holders[n] ?? []
          const shown = holder
            ? [{ id: holder.id, owner: holder.owner, share: null, place: 0 }, ...first]
            : first
          return { count: count + shown.length - first.length, first: shown }
        })
      },
    }),
  },
  'only the first of several readers is woken': {
    caughtBy: 'wakes all readers together when a writer ends',
    mutate(store) {
      let isWoken = false
      const once = (wake: NonNullable<Ask['wake']>) => (inMs: number) => {
        if (isWoken) return
        isWoken = true
        queueMicrotask(() => {
          isWoken = false
        })
        wake(inMs)
      }
      return { acquire: (ask) => store.acquire({ ...ask, ...(ask.wake && { wake: once(ask.wake) }) }) }
    },
  },
  'reservation that never ends': {
    caughtBy: 'skips a waiter that does not ask when it is woken, within about a second',
    mutate(store) {
      const reserved = new Map<string, string>()
      return {
        async acquire(ask) {
          const { id, resource, wake } = ask
          const noted = (inMs: number) => {
            if (inMs === 0 && !reserved.has(resource)) reserved.set(resource, id)
            wake?.(inMs)
          }
          const first = reserved.get(resource) ?? id
          if (first !== id) return { granted: false, holders: [], place: 1, retryIn: 1000 }
          reserved.delete(resource)
          return store.acquire({ ...ask, ...(wake && { wake: noted }) })
        },
      }
    },
  },
  'reservation of a tenth of a second': {
    caughtBy: 'keeps a freed resource for the first waiter',
    mutate(store) {
      const freedAt = new Map<string, number>()
      const mutant = overtaking(
        store,
        async ({ resource }) => (await timeOf(store)) - (freedAt.get(resource) ?? Infinity) > 100,
      )
      return {
        ...mutant,
        async release(by) {
          freedAt.set(by.resource, await timeOf(store))
          return store.release(by)
        },
      }
    },
  },
  'place that stays after its waiter gave up': {
    caughtBy: 'forgets a waiter that gave up',
    mutate(store) {
      const waiting = new Set<string>()
      return {
        async acquire(ask) {
          const answer = await store.acquire(ask)
          if (answer.granted) waiting.delete(ask.id)
          else waiting.add(ask.id)
          return answer
        },
        release: async (by) =>
          'id' in by && waiting.has(by.id) ? { ended: null, holders: [] } : store.release(by),
      }
    },
  },
  'place that stays after an aborted request': {
    caughtBy: 'forgets a waiter that gave up after its request was aborted',
    mutate(store) {
      const aborted = new Set<string>()
      return {
        acquire(ask, call) {
          if (call?.signal?.aborted) aborted.add(ask.id)
          return store.acquire(ask, call)
        },
        release: async (by) =>
          'id' in by && aborted.has(by.id) ? { ended: null, holders: [] } : store.release(by),
      }
    },
  },
  'place that is lost by asking again without `wake`': {
    caughtBy: 'keeps the place of a waiter that asks again',
    mutate: (store) => ({
      async acquire(ask) {
        if (!ask.wake) await store.release({ resource: ask.resource, id: ask.id })
        return store.acquire(ask)
      },
    }),
  },
  'takeover that sends the queue away': {
    caughtBy: 'keeps the queue through a takeover',
    mutate(store) {
      const waiters = new Set<string>()
      return {
        async acquire(ask) {
          const { resource } = ask
          if (ask.wake) waiters.add(ask.id)
          if (ask.replace) for (const id of waiters) await store.release({ resource, id })
          return store.acquire(ask)
        },
      }
    },
  },
  'waiting that counts only what it shows': {
    caughtBy: 'lists and counts the waiters of several resources at once',
    mutate: (store) => ({
      async waiting(query) {
        const queues = (await store.waiting?.(query)) ?? []
        return queues.map(({ first }) => ({ count: first.length, first }))
      },
    }),
  },
})

/** Wakes nobody during such releases. */
function whileCalling(store: LeaseStore, isMute: (by: ReleaseAsk) => boolean): Partial<LeaseStore> {
  let mute = 0
  return {
    acquire(ask) {
      const { wake } = ask
      const heard = (inMs: number) => mute === 0 && wake?.(inMs)
      return store.acquire({ ...ask, ...(wake && { wake: heard }) })
    },
    async release(by) {
      if (!isMute(by)) return store.release(by)
      mute++
      try {
        return await store.release(by)
      } finally {
        mute--
      }
    },
  }
}

/** Grants a free resource to a newcomer, although others wait for it. */
function overtaking(
  store: LeaseStore,
  applies: (ask: Ask) => boolean | Promise<boolean>,
): Partial<LeaseStore> {
  const waiters = new Map<string, string>()
  return {
    async acquire(ask) {
      const answer = await store.acquire(ask)
      if (answer.granted || answer.holders.length > 0) {
        if (ask.wake) waiters.set(ask.resource, ask.id)
        return answer
      }
      const first = waiters.get(ask.resource)
      if (!first || !(await applies(ask))) return answer
      await store.release({ resource: ask.resource, id: first })
      return store.acquire(ask)
    },
  }
}
