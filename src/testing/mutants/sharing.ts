/** Mistakes about several leases of a resource, and about leases that keep it after their end. */
import type { Ask, LeaseRecord } from '../../core/index.ts'
import { mutants, timeOf } from './mutant.ts'

export const sharingMutants = mutants({
  'reader that passes a writer that waits': {
    caughtBy: 'lets no reader pass a writer that waits',
    mutate(store) {
      const writers = new Map<string, Ask>()
      return {
        async acquire(ask) {
          const answer = await store.acquire(ask)
          if (!answer.granted && ask.wake && !ask.share) writers.set(ask.resource, ask)
          const writer = writers.get(ask.resource)
          const isAmongReaders = !answer.granted && answer.holders.every(({ share }) => share)
          if (!isAmongReaders || !ask.share || !writer) return answer
          await store.release({ resource: ask.resource, id: writer.id })
          const passed = await store.acquire(ask)
          await store.acquire(writer)
          return passed
        },
      }
    },
  },
  'one permit too many': {
    caughtBy: 'grants as many leases as their share allows, and no more',
    mutate: (store) => ({
      async acquire(ask) {
        const { share } = ask
        const answer = await store.acquire({ ...ask, ...(share && { share: share + 1 }) })
        return answer.granted && share ? { ...answer, lease: { ...answer.lease, share } } : answer
      },
    }),
  },
  'steal that leaves a holder': {
    caughtBy: 'steals from all that hold, and tells each of them once',
    mutate(store) {
      const left = new Map<string, LeaseRecord>()
      return {
        async acquire(ask) {
          const [[oldest] = []] = await store.read([ask.resource])
          if (ask.replace === 'any' && oldest) left.set(ask.resource, oldest)
          return store.acquire(ask)
        },
        async read(names) {
          const found = await store.read(names)
          return found.map((leases, n) => {
            const lease = left.get(names[n] ?? '')
            return lease ? [lease, ...leases] : leases
          })
        },
      }
    },
  },
  'waiter that is woken once, whatever becomes of its turn': {
    caughtBy: 'wakes all readers again whose turn was stolen',
    mutate(store) {
      const woken = new Set<string>()
      return {
        acquire(ask) {
          const { id, share, wake } = ask
          const once = (inMs: number) => {
            if (inMs === 0 && share && woken.has(id)) return
            if (inMs === 0) woken.add(id)
            wake?.(inMs)
          }
          return store.acquire({ ...ask, ...(wake && { wake: once }) })
        },
      }
    },
  },
  'forced release of all that share': {
    caughtBy: 'ends one of several by force, and tells only its holder',
    mutate: (store) => ({
      async release(by) {
        const released = await store.release(by)
        if ('token' in by)
          for (const { token } of released.holders) await store.release({ resource: by.resource, token })
        return released
      },
    }),
  },
  '`atLeast` that only the process knows': {
    caughtBy: 'keeps a resource through a restart',
    mutate(store) {
      const kept = new Set<string>()
      return {
        async acquire({ atLeast, ...ask }) {
          if (kept.has(ask.resource))
            return { granted: false, holders: [], place: null, retryIn: 1000, keptFor: 1000 }
          if (atLeast) kept.add(ask.resource)
          return store.acquire(ask)
        },
      }
    },
  },
  '`lockDelay` after a release': {
    caughtBy: 'has no lock delay after a release',
    mutate: (store) => ({
      acquire: (ask) => store.acquire({ ...ask, ...(ask.lockDelay && { atLeast: ask.lockDelay }) }),
    }),
  },
  'only the share of the request counts': {
    caughtBy: 'counts the smallest share of the request and of all that hold',
    mutate: (store) => ({
      async acquire(ask) {
        const { share } = ask
        const [holders = []] = await store.read([ask.resource])
        if (!share || holders.length >= share) return store.acquire(ask)
        const answer = await store.acquire({ ...ask, share: Infinity })
        return answer.granted ? { ...answer, lease: { ...answer.lease, share } } : answer
      },
    }),
  },
  'only the shares of the holders count': {
    caughtBy: 'counts the smallest share of the request and of all that hold',
    mutate: (store) => ({
      async acquire(ask) {
        const [holders = []] = await store.read([ask.resource])
        return store.acquire({ ...ask, share: ask.share && Math.max(ask.share, holders.length + 1) })
      },
    }),
  },
  'limit that stays when the lease that set it has ended': {
    caughtBy: 'counts the smallest share of the request and of all that hold',
    mutate(store) {
      const limits = new Map<string, number>()
      return {
        async acquire(ask) {
          const { resource, share = Infinity } = ask
          const limit = Math.min(share, limits.get(resource) ?? Infinity)
          const [holders = []] = await store.read([resource])
          if (holders.length >= limit) return { granted: false, holders, place: null, retryIn: null }
          limits.set(resource, limit)
          return store.acquire(ask)
        },
      }
    },
  },
  'repeated request that changes the share': {
    caughtBy: 'grants the same shared lease again to the same id',
    mutate: (store) => ({
      async acquire(ask) {
        const answer = await store.acquire(ask)
        return answer.granted ? { ...answer, lease: { ...answer.lease, share: ask.share ?? null } } : answer
      },
    }),
  },
  'loss that is told to all that share': {
    caughtBy: 'ends one of several by force, and tells only its holder',
    mutate(store) {
      const holders = new Set<() => void>()
      return {
        acquire(ask) {
          if (ask.lost) holders.add(ask.lost)
          const all = () => {
            for (const lost of holders) lost()
          }
          return store.acquire({ ...ask, ...(ask.lost && { lost: all }) })
        },
      }
    },
  },
  '`atLeast` after a forced release': {
    caughtBy: 'keeps nothing after a forced release',
    mutate: (store) => ({
      async release(by) {
        const [[holder] = []] = await store.read([by.resource])
        return store.release('token' in by && holder ? { resource: by.resource, id: holder.id } : by)
      },
    }),
  },
  '`atLeast` that is counted from the release': {
    caughtBy: 'keeps a released resource for its `atLeast`',
    mutate(store) {
      const asked = new Map<string, number>()
      const keptUntil = new Map<string, number>()
      return {
        async acquire({ atLeast = 0, ...ask }) {
          const keptFor = (keptUntil.get(ask.resource) ?? 0) - (await timeOf(store))
          if (keptFor > 0) return { granted: false, holders: [], keptFor, place: null, retryIn: keptFor }
          asked.set(ask.id, atLeast)
          return store.acquire(ask)
        },
        async release(by) {
          const atLeast = 'id' in by ? (asked.get(by.id) ?? 0) : 0
          keptUntil.set(by.resource, (await timeOf(store)) + atLeast)
          return store.release(by)
        },
      }
    },
  },
  '`lockDelay` that a sweep ends': {
    caughtBy: 'blocks for the lock delay after an expiry',
    mutate(store) {
      const swept = new Set<string>()
      return {
        async sweep(query) {
          const leases = await store.sweep(query)
          for (const { resource } of leases) swept.add(resource)
          return leases
        },
        acquire: (ask) => store.acquire(swept.has(ask.resource) ? { ...ask, replace: 'any' } : ask),
      }
    },
  },
})
