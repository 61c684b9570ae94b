import type { Answer, Ask, LeaseRecord, LeaseStore } from '../../src/core/index.ts'

/** A planted fault: what the bug is, how to wrap a good store into a bad one, and who must notice. */
export interface StoreBug {
  readonly name: string
  readonly plant: (store: LeaseStore) => LeaseStore
  /** A case of the conformance suite that fails; absent: the simulation finds it. */
  readonly caughtBy?: string
}

export const storeBugs: readonly StoreBug[] = [
  {
    name: 'release without a check of who asks',
    caughtBy: 'does not let an old holder free its successor',
    plant: (store) => ({
      ...store,
      release: async (ask) => {
        const [[holder] = []] = await store.read([ask.resource])
        return store.release(holder ? { resource: ask.resource, token: holder.token } : ask)
      },
    }),
  },
  {
    name: 'renewal that inserts',
    caughtBy: 'does not renew what has expired, even if nobody took it',
    plant: (store) => ({
      ...store,
      renew: async (ask) => {
        const renewal = await store.renew(ask)
        if (renewal.ok) return renewal
        const answer = await store.acquire({ ...ask, owner: 'renewed' })
        return answer.granted ? { ok: true, lease: answer.lease } : renewal
      },
    }),
  },
  {
    name: 'renewal for whoever asks',
    caughtBy: 'renews for the holder only',
    plant: (store) => ({
      ...store,
      renew: async (ask) => {
        const [[holder] = []] = await store.read([ask.resource])
        return store.renew({ ...ask, id: holder?.id ?? ask.id })
      },
    }),
  },
  {
    name: 'renewal that sets the expiry to now + ttl, even back',
    caughtBy: 'never shortens a lease by renewing it',
    plant: (store) => ({
      ...store,
      renew: async (ask) => {
        const renewal = await store.renew(ask)
        return renewal.ok ? { ok: true, lease: { ...renewal.lease, remaining: ask.ttl } } : renewal
      },
    }),
  },
  {
    name: 'token counted from a row that is deleted on release',
    caughtBy: 'raises the token with every grant',
    plant: (store) => {
      const counters = new Map<string, number>()
      return {
        ...store,
        acquire: async (ask) =>
          withToken(await store.acquire(ask), () => {
            const next = (counters.get(ask.resource) ?? 0) + 1
            counters.set(ask.resource, next)
            return next
          }),
        release: async (ask) => {
          counters.delete(ask.resource)
          return store.release(ask)
        },
      }
    },
  },
  {
    name: 'token rounded to 14 digits on its way',
    caughtBy: 'raises the token with every grant',
    plant: (store) => ({
      ...store,
      acquire: async (ask) => withToken(await store.acquire(ask), (token) => Number(token.toPrecision(14))),
    }),
  },
  {
    name: 'token that is the clock alone',
    caughtBy: 'raises the token when the clock steps back',
    plant: (store) => ({
      ...store,
      acquire: async (ask) => {
        const answer = await store.acquire(ask)
        return answer.granted ? withToken(answer, () => answer.lease.acquiredAt * 1000) : answer
      },
    }),
  },
  {
    name: 'look first, then write',
    caughtBy: 'grants one of fifty that ask at once',
    plant: (store) => ({
      ...store,
      acquire: async (ask) => {
        const [[holder] = []] = await store.read([ask.resource])
        const answer = await store.acquire(ask)
        if (holder || answer.granted || answer.holders.length === 0) return answer
        return store.acquire({ ...ask, replace: answer.holders[0]?.token })
      },
    }),
  },
  {
    name: 'a new id for every attempt',
    caughtBy: 'grants the same lease again to the same id',
    plant: (store) => {
      let attempts = 0
      const current = new Map<string, string>()
      const inner = (id: string) => current.get(id) ?? id
      return {
        ...store,
        acquire: async (ask) => {
          const id = `${ask.id}/${++attempts}`
          const answer = await store.acquire({ ...ask, id })
          if (answer.granted) current.set(ask.id, id)
          return answer
        },
        renew: (ask) => store.renew({ ...ask, id: inner(ask.id) }),
        release: (ask) => store.release('id' in ask ? { ...ask, id: inner(ask.id) } : ask),
      }
    },
  },
  {
    name: 'take-over from whoever holds it',
    caughtBy: 'refuses to take over from another token',
    plant: (store) => ({
      ...store,
      acquire: async (ask) => {
        const [[holder] = []] = await store.read([ask.resource])
        return store.acquire({ ...ask, ...(ask.replace && holder && { replace: holder.token }) })
      },
    }),
  },
  {
    name: 'a sweep that hands out what another sweep did',
    caughtBy: 'hands each expired lease to one of several sweepers, and forgets none',
    plant: (store) => {
      let last: readonly LeaseRecord[] = []
      return {
        ...store,
        sweep: async (query) => {
          const swept = await store.sweep(query)
          if (swept.length > 0) last = swept
          return swept.length > 0 ? swept : last
        },
      }
    },
  },
  {
    name: 'a newcomer that overtakes the queue',
    caughtBy: 'keeps a freed resource for the first waiter',
    plant: (store) => {
      const line = new Map<string, string>()
      return {
        ...store,
        acquire: async (ask) => {
          const answer = await store.acquire(ask)
          if (answer.granted || answer.holders.length > 0) {
            if (ask.wake) line.set(ask.resource, ask.id)
            return answer
          }
          const first = line.get(ask.resource)
          if (first) await store.release({ resource: ask.resource, id: first })
          return store.acquire(ask)
        },
      }
    },
  },
  {
    name: 'a line served from its end',
    caughtBy: 'serves waiters first in, first out, across processes',
    plant: (store) => {
      const wakes: Ask['wake'][] = []
      return {
        ...store,
        acquire: async (ask) => {
          if (ask.wake) wakes.push(ask.wake)
          return store.acquire({ ...ask, ...(ask.wake && { wake: (inMs: number) => wakes.at(-1)?.(inMs) }) })
        },
      }
    },
  },
  {
    name: 'a prefix that is taken as a pattern',
    caughtBy: 'lists live leases by prefix, taken literally',
    plant: (store) => ({
      ...store,
      list: ({ prefix = '', ...query }) => store.list({ ...query, prefix: prefix.replace(/[%*].*$/, '') }),
    }),
  },
  {
    name: 'a watch that ends with its first event',
    caughtBy: 'tells watchers of every change, whoever made it',
    plant: (store) => ({
      ...store,
      watch: (on, query) => {
        let over = false
        return store.watch((event) => {
          if (!over) on(event)
          over = true
        }, query)
      },
    }),
  },
  {
    name: 'a TTL that the store silently cuts by a tenth',
    plant: (store) => ({
      ...store,
      acquire: async (ask) => {
        const answer = await store.acquire({ ...ask, ttl: ask.ttl * 0.9 })
        return answer.granted ? { ...answer, lease: { ...answer.lease, remaining: ask.ttl } } : answer
      },
      renew: async (ask) => {
        const renewal = await store.renew({ ...ask, ttl: ask.ttl * 0.9 })
        return renewal.ok ? { ok: true, lease: { ...renewal.lease, remaining: ask.ttl } } : renewal
      },
    }),
  },
  {
    name: 'a renewal that is confirmed though another holds it',
    caughtBy: 'takes over from the holder with the given token',
    plant: (store) => ({
      ...store,
      renew: async (ask) => {
        const renewal = await store.renew(ask)
        const [holder] = renewal.ok ? [] : renewal.holders
        return holder ? { ok: true, lease: { ...holder, id: ask.id, remaining: ask.ttl } } : renewal
      },
    }),
  },
  {
    name: 'a reader that passes a writer that waits',
    caughtBy: 'lets no reader pass a writer that waits',
    plant: (store) => {
      const writers = new Map<string, Ask>()
      return {
        ...store,
        acquire: async (ask) => {
          const answer = await store.acquire(ask)
          if (!answer.granted && ask.wake && !ask.share) writers.set(ask.resource, ask)
          const writer = writers.get(ask.resource)
          if (answer.granted || !ask.share || !writer || answer.holders.some(({ share }) => !share))
            return answer
          await store.release({ resource: ask.resource, id: writer.id })
          const passed = await store.acquire(ask)
          await store.acquire(writer)
          return passed
        },
      }
    },
  },
  {
    name: 'one permit too many',
    caughtBy: 'grants as many leases as their share allows, and no more',
    plant: (store) => ({
      ...store,
      acquire: async (ask) => {
        const answer = await store.acquire({ ...ask, ...(ask.share && { share: ask.share + 1 }) })
        return answer.granted && ask.share
          ? { ...answer, lease: { ...answer.lease, share: ask.share } }
          : answer
      },
    }),
  },
  {
    name: 'only the first of several readers is woken',
    caughtBy: 'wakes all readers together when a writer ends',
    plant: (store) => {
      let isWoken = false
      const once = (wake: NonNullable<Ask['wake']>) => (inMs: number) => {
        if (isWoken) return
        isWoken = true
        queueMicrotask(() => {
          isWoken = false
        })
        wake(inMs)
      }
      return {
        ...store,
        acquire: (ask) => store.acquire({ ...ask, ...(ask.wake && { wake: once(ask.wake) }) }),
      }
    },
  },
  {
    name: 'a reservation that a waiter who gives up leaves behind',
    caughtBy: 'wakes the next waiter when the first gives up its turn',
    plant: (store) => {
      const called = new Set<string>()
      return {
        ...store,
        acquire: (ask) => {
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
  {
    name: 'a steal that leaves a holder',
    caughtBy: 'steals from all that hold, and tells each of them once',
    plant: (store) => {
      const left = new Map<string, LeaseRecord>()
      return {
        ...store,
        acquire: async (ask) => {
          const [[oldest] = []] = await store.read([ask.resource])
          if (ask.replace === 'any' && oldest) left.set(ask.resource, oldest)
          return store.acquire(ask)
        },
        read: async (resources) => {
          const found = await store.read(resources)
          return found.map((leases, n) => {
            const lease = left.get(resources[n] ?? '')
            return lease ? [lease, ...leases] : leases
          })
        },
      }
    },
  },
  {
    name: 'an `atLeast` that only the process knows',
    caughtBy: 'keeps a resource through a restart',
    plant: (store) => {
      const kept = new Set<string>()
      return {
        ...store,
        acquire: async ({ atLeast, ...ask }) => {
          if (kept.has(ask.resource))
            return { granted: false, holders: [], place: null, retryIn: 1000, keptFor: 1000 }
          if (atLeast) kept.add(ask.resource)
          return store.acquire(ask)
        },
      }
    },
  },
  {
    name: 'a reader that is granted beside a writer',
    plant: (store) => ({
      ...store,
      acquire: async (ask) => {
        const answer = await store.acquire(ask)
        if (answer.granted || ask.share !== Infinity || !answer.holders[0]) return answer
        const other = { ...ask, resource: `${ask.resource} for readers` }
        const beside = await store.acquire(other)
        return beside.granted ? { ...beside, lease: { ...beside.lease, resource: ask.resource } } : answer
      },
    }),
  },
]

function withToken(answer: Answer, token: (real: number) => number): Answer {
  if (!answer.granted) return answer
  return { ...answer, lease: { ...answer.lease, token: token(answer.lease.token) } }
}
