/** Mistakes of read, list and watch. */
import type { LeaseRecord, LeaseStore, StoreEvent } from '../../core/index.ts'
import { mutants } from './mutant.ts'

export const lookingMutants = mutants({
  'prefix that is taken as a pattern': {
    caughtBy: 'lists live leases by prefix, taken literally',
    mutate: (store) => ({
      list: ({ prefix = '', ...query }) => store.list({ ...query, prefix: prefix.replace(/[%*].*$/, '') }),
    }),
  },
  'pages that begin anew': {
    caughtBy: 'lists in pages that together have each lease once',
    mutate: (store) => ({ list: ({ after: _, ...query }) => store.list(query) }),
  },
  'list in another order than that of UTF-8': {
    caughtBy: 'lists in the order of UTF-8',
    mutate: (store) => ({
      async list(query) {
        const page = await store.list(query)
        return { ...page, leases: page.leases.toSorted((a, b) => (a.resource < b.resource ? -1 : 1)) }
      },
    }),
  },
  'list that shows what has expired': {
    caughtBy: 'shows no expired lease',
    mutate(store) {
      const granted = new Map<string, LeaseRecord>()
      return {
        async acquire(ask) {
          const answer = await store.acquire(ask)
          if (answer.granted) granted.set(ask.resource, answer.lease)
          return answer
        },
        async list(query) {
          const page = await store.list(query)
          return page.leases.length > 0 ? page : { leases: [...granted.values()] }
        },
      }
    },
  },
  'read of at most a hundred names': {
    caughtBy: 'reads hundreds of names in one call',
    mutate: (store) => ({ read: (names) => store.read(names.slice(0, 100)) }),
  },
  'read in the order of names': {
    caughtBy: 'reads several resources in the order in which they were asked for',
    mutate: (store) => ({ read: (names) => store.read(names.toSorted()) }),
  },
  'read that hides what is kept': {
    caughtBy: 'shows a kept resource with its last owner and the time left',
    mutate: (store) => ({
      read: async (names) => (await store.read(names)).map((leases) => leases.filter(isHeld)),
    }),
  },
  'list that hides what is kept': {
    caughtBy: 'shows a kept resource with its last owner and the time left',
    mutate: (store) => ({
      async list(query) {
        const page = await store.list(query)
        return { ...page, leases: page.leases.filter(isHeld) }
      },
    }),
  },
  'read that shows what was kept': {
    caughtBy: 'shows a kept resource no longer after a steal or a forced release, which names it',
    mutate(store) {
      const kept = new Map<string, LeaseRecord>()
      return {
        async release(by) {
          const released = await store.release(by)
          const [[lease] = []] = await store.read([by.resource])
          if (lease) kept.set(by.resource, lease)
          return released
        },
        read: async (names) =>
          (await store.read(names)).map((leases, n) => {
            const lease = kept.get(names[n] ?? '')
            return lease && leases.length === 0 ? [lease] : leases
          }),
      }
    },
  },
  'watch that does not tell what is kept': {
    caughtBy: 'tells watchers that a resource is kept, and that it is kept no longer',
    mutate: (store) => ({
      watch: (on, query) =>
        store.watch((event) => {
          if (event.type === 'gap' || event.lease.state !== 'kept') on(event)
        }, query),
    }),
  },
  'watch that ends with its first event': {
    caughtBy: 'tells watchers of every change, no matter who made it',
    mutate: (store) => ({
      watch(on, query) {
        let isOver = false
        return store.watch((event) => {
          if (!isOver) on(event)
          isOver = true
        }, query)
      },
    }),
  },
  'watch without renewals': {
    caughtBy: 'tells watchers of renewals',
    mutate: (store) => ({
      watch(on, query) {
        const known = new Set<number>()
        return store.watch((event) => {
          const isRenewal =
            event.type === 'change' && event.lease.state === 'held' && known.has(event.lease.token)
          if (event.type === 'change') known.add(event.lease.token)
          if (!isRenewal) on(event)
        }, query)
      },
    }),
  },
  'watch that goes on after its end': {
    caughtBy: 'tells a watcher of its prefix only, and nothing after it has ended',
    mutate: (store) => ({
      async watch(on, query) {
        await store.watch(on, query)
        return { async [Symbol.asyncDispose]() {} }
      },
    }),
  },
  'gap that only the first watcher hears of': {
    caughtBy: 'tells of a gap after an interruption, and goes on',
    mutate(store) {
      let isFirst = true
      return {
        watch(on, query) {
          const hearsGaps = isFirst
          isFirst = false
          const filtered = (event: StoreEvent) => {
            if (event.type !== 'gap' || hearsGaps) on(event)
          }
          return store.watch(filtered, query)
        },
      }
    },
  },
  'read that leaves out free names': {
    caughtBy: 'reads several resources in the order in which they were asked for',
    mutate: (store) => ({
      read: async (names) => (await store.read(names)).filter((leases) => leases.length > 0),
    }),
  },
  'read that answers a repeated name once': {
    caughtBy: 'reads several resources in the order in which they were asked for',
    mutate: (store) => ({ read: (names) => store.read([...new Set(names)]) }),
  },
  'read of one lease of each resource': {
    caughtBy: 'names every holder, oldest first',
    mutate: (store) => ({
      read: async (names) => (await store.read(names)).map((leases) => leases.slice(0, 1)),
    }),
  },
  'list of one lease of each resource': {
    caughtBy: 'lists several leases of a resource, in pages of any size',
    mutate: (store) => ({
      async list(query) {
        const page = await store.list(query)
        const isFirst = ({ resource }: LeaseRecord, n: number) => page.leases[n - 1]?.resource !== resource
        return { ...page, leases: page.leases.filter(isFirst) }
      },
    }),
  },
  'list with the newest lease of a resource first': {
    caughtBy: 'lists several leases of a resource, in pages of any size',
    mutate: (store) => ({
      async list(query) {
        const page = await store.list(query)
        const byAge = (a: LeaseRecord, b: LeaseRecord) => (a.resource === b.resource ? b.token - a.token : 0)
        return { ...page, leases: page.leases.toSorted(byAge) }
      },
    }),
  },
  'pages by the order of UTF-16': {
    caughtBy: 'lists in the order of UTF-8',
    mutate: (store) => ({
      async list({ limit, after = '', ...query }) {
        const { leases } = await store.list({ ...query, limit: 1000 })
        const rest = leases.filter(({ resource }) => resource > after)
        const page = rest.slice(0, limit)
        const next = page.at(-1)?.resource
        return { leases: page, ...(rest.length > limit && next && { next }) }
      },
    }),
  },
  'prefix of a watch that is taken as a pattern': {
    caughtBy: 'tells a watcher of its prefix only, and nothing after it has ended',
    mutate: (store) => ({
      watch: (on, { prefix = '' } = {}) => store.watch(on, { prefix: prefix.replace(/[%_*].*$/, '') }),
    }),
  },
  'grant that is told before the end of the lease before it': {
    caughtBy: 'tells watchers of every change, no matter who made it',
    mutate: (store) =>
      delaying(store, (event) => event.type === 'change' && event.lease.state === 'taken-over'),
  },
  'renewal that is told too late': {
    caughtBy: 'tells the changes of a resource in their order',
    mutate(store) {
      const granted = new Set<number>()
      return delaying(store, (event) => {
        if (event.type === 'gap' || event.lease.state !== 'held') return false
        const isRenewal = granted.has(event.lease.token)
        granted.add(event.lease.token)
        return isRenewal
      })
    },
  },
})

/** Tells such events only after the next one. */
function delaying(store: LeaseStore, isLate: (event: StoreEvent) => boolean): Partial<LeaseStore> {
  return {
    watch(on, query) {
      const late: StoreEvent[] = []
      return store.watch((event) => {
        if (isLate(event)) late.push(event)
        else for (const told of [event, ...late.splice(0)]) on(told)
      }, query)
    },
  }
}

function isHeld({ state }: LeaseRecord): boolean {
  return state === 'held'
}
