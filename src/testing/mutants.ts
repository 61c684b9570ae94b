/**
 * Stores with one planted mistake each, to test the suite itself: `describeStore` must fail on every one of them. A
 * mutant that passes shows a rule that nobody checks, or a hook that the harness does not offer.
 */
import { LeaseError } from '../base/errors.ts'
import type { Answer, Ask, LeaseRecord, LeaseStore, ReleaseAsk, StoreEvent } from '../core/index.ts'

interface Mutant {
  /** The title of a case that notices the mistake. */
  readonly caughtBy: string
  readonly mutate: (store: LeaseStore) => Partial<LeaseStore>
}

/** Returns the store with the mistake of this name. The store itself stays as it is. */
export function mutateStore(store: LeaseStore, mistake: StoreMistake): LeaseStore {
  return { ...methodsOf(store), ...MUTANTS[mistake].mutate(store) }
}

/** The mistakes that `mutateStore` knows, and the case of the suite that notices each. */
export function storeMistakes(): readonly { readonly mistake: StoreMistake; readonly caughtBy: string }[] {
  return Object.entries(MUTANTS).map(([mistake, { caughtBy }]) => ({
    mistake: mistake as StoreMistake,
    caughtBy,
  }))
}

export type StoreMistake = keyof typeof MUTANTS

const MUTANTS = {
  'release without a check of who asks': {
    caughtBy: 'does not let an old holder free its successor',
    mutate: (store) => ({
      async release(by) {
        const [[holder] = []] = await store.read([by.resource])
        return store.release(holder ? { resource: by.resource, token: holder.token } : by)
      },
    }),
  },
  'renewal that inserts': {
    caughtBy: 'does not renew what has expired, even if nobody took it',
    mutate: (store) => ({
      async renew(ask) {
        const renewal = await store.renew(ask)
        if (renewal.ok) return renewal
        const answer = await store.acquire({ ...ask, owner: 'renewed' })
        return answer.granted ? { ok: true, lease: answer.lease } : renewal
      },
    }),
  },
  'renewal for whoever asks': {
    caughtBy: 'renews for the holder only',
    mutate: (store) => ({
      async renew(ask) {
        const [[holder] = []] = await store.read([ask.resource])
        return store.renew({ ...ask, id: holder?.id ?? ask.id })
      },
    }),
  },
  'renewal that is confirmed though another holds it': {
    caughtBy: 'takes over from the holder with the given token',
    mutate: (store) => ({
      async renew(ask) {
        const renewal = await store.renew(ask)
        const [holder] = renewal.ok ? [] : renewal.holders
        return holder ? { ok: true, lease: { ...holder, id: ask.id, remaining: ask.ttl } } : renewal
      },
    }),
  },
  'renewal that sets the expiry to now + ttl, even back': {
    caughtBy: 'never shortens a lease by renewing it',
    mutate: (store) => ({
      async renew(ask) {
        const renewal = await store.renew(ask)
        return renewal.ok ? { ok: true, lease: { ...renewal.lease, remaining: ask.ttl } } : renewal
      },
    }),
  },
  'renewal that adds the TTL to the old expiry': {
    caughtBy: 'renews for so long from now, and no longer',
    mutate: (store) => ({
      async renew(ask) {
        const [[held] = []] = await store.read([ask.resource])
        return store.renew({ ...ask, ttl: ask.ttl + (held?.remaining ?? 0) })
      },
    }),
  },
  'renewal that forgets the metadata': {
    caughtBy: 'changes nothing but the expiry by a renewal or a repeated request',
    mutate: (store) => ({
      async renew(ask) {
        const renewal = await store.renew(ask)
        return renewal.ok ? { ok: true, lease: { ...renewal.lease, metadata: null } } : renewal
      },
    }),
  },
  'token counted from a row that is deleted on release': {
    caughtBy: 'raises the token with every grant',
    mutate(store) {
      const counts = new Map<string, number>()
      const tokens = new Map<string, number>()
      return {
        async acquire(ask) {
          const answer = await store.acquire(ask)
          if (!answer.granted) return answer
          const token = tokens.get(answer.lease.id) ?? (counts.get(ask.resource) ?? 0) + 1
          counts.set(ask.resource, token)
          tokens.set(answer.lease.id, token)
          return withToken(answer, token)
        },
        async release(by) {
          counts.delete(by.resource)
          return store.release(by)
        },
      }
    },
  },
  'token rounded to 14 digits on its way': {
    caughtBy: 'raises the token with every grant',
    mutate: (store) => ({
      acquire: async (ask) => {
        const answer = await store.acquire(ask)
        return answer.granted ? withToken(answer, Number(answer.lease.token.toPrecision(14))) : answer
      },
    }),
  },
  'token that is the clock alone': {
    caughtBy: 'raises the token when the clock steps back',
    mutate: (store) => ({
      async acquire(ask) {
        const answer = await store.acquire(ask)
        return answer.granted ? withToken(answer, answer.lease.acquiredAt * 1000) : answer
      },
    }),
  },
  'token that does not rise when the same id comes back': {
    caughtBy: 'raises the token for an id whose lease has expired',
    mutate(store) {
      const tokens = new Map<string, number>()
      return {
        async acquire(ask) {
          const answer = await store.acquire(ask)
          if (!answer.granted) return answer
          const token = tokens.get(ask.id) ?? answer.lease.token
          tokens.set(ask.id, token)
          return withToken(answer, token)
        },
      }
    },
  },
  'look first, then write': {
    caughtBy: 'grants one of fifty that ask at once',
    mutate: (store) => ({
      async acquire(ask) {
        const [[holder] = []] = await store.read([ask.resource])
        const answer = await store.acquire(ask)
        if (holder || answer.granted || !answer.holders[0]) return answer
        return store.acquire({ ...ask, replace: answer.holders[0].token })
      },
    }),
  },
  'another lease for a repeated request': {
    caughtBy: 'grants the same lease again to the same id',
    mutate(store) {
      let asks = 0
      return { acquire: (ask) => store.acquire({ ...ask, id: `${ask.id} ${++asks}` }) }
    },
  },
  'repeated request that does not extend': {
    caughtBy: 'grants the same lease again to the same id',
    mutate: (store) => ({
      async acquire(ask) {
        const [found = []] = await store.read([ask.resource])
        const own = found.find(({ id }) => id === ask.id)
        return own ? { granted: true, lease: own } : store.acquire(ask)
      },
    }),
  },
  'repeated request that changes the owner': {
    caughtBy: 'changes nothing but the expiry by a renewal or a repeated request',
    mutate: (store) => ({
      async acquire(ask) {
        const answer = await store.acquire(ask)
        return answer.granted ? { ...answer, lease: { ...answer.lease, owner: ask.owner } } : answer
      },
    }),
  },
  'take-over from whoever holds it': {
    caughtBy: 'refuses to take over from another token',
    mutate: (store) => ({
      async acquire(ask) {
        const [[holder] = []] = await store.read([ask.resource])
        return store.acquire({ ...ask, ...(ask.replace && holder && { replace: holder.token }) })
      },
    }),
  },
  'take-over that says nothing of the old lease': {
    caughtBy: 'takes over from the holder with the given token',
    mutate: (store) => ({
      async acquire(ask) {
        const { replaced: _, ...answer } = (await store.acquire(ask)) as Extract<Answer, { granted: true }>
        return answer
      },
    }),
  },
  'TTL that is ignored': {
    caughtBy: 'frees an expired lease before any sweep, and hands it back',
    mutate: (store) => ({ acquire: (ask) => store.acquire({ ...ask, ttl: ask.ttl * 100 }) }),
  },
  'expiry by the clock of the caller': {
    caughtBy: 'judges time by its own clock, whatever the clock of the caller says',
    mutate: (store) => ({
      async acquire(ask) {
        const [found = []] = await store.read([ask.resource])
        for (const { token, expiresAt } of found)
          if (expiresAt !== null && Date.now() >= expiresAt)
            await store.release({ resource: ask.resource, token })
        return store.acquire(ask)
      },
    }),
  },
  'late release that counts as released': {
    caughtBy: 'says of a late release that the lease had expired',
    mutate: (store) => ({
      async release(by) {
        const { ended, ...rest } = await store.release(by)
        return { ...rest, ended: ended && { ...ended, state: 'released' } }
      },
    }),
  },
  'forced release by any token': {
    caughtBy: 'ends a lease by force, by its token',
    mutate: (store) => ({
      async release(by) {
        const [[holder] = []] = await store.read([by.resource])
        return store.release('token' in by && holder ? { ...by, token: holder.token } : by)
      },
    }),
  },
  'forced release that wakes nobody': {
    caughtBy: 'wakes the first waiter when a lease is ended by force',
    mutate: (store) => whileCalling(store, (by) => 'token' in by),
  },
  'release that wakes nobody': {
    caughtBy: 'serves waiters first in, first out, across processes',
    mutate: (store) => whileCalling(store, () => true),
  },
  'loss that is told twice': {
    caughtBy: 'tells the holder when its lease was ended by force',
    mutate: (store) => ({
      acquire: (ask) => {
        const { lost } = ask
        const twice = () => {
          lost?.()
          lost?.()
        }
        return store.acquire({ ...ask, ...(lost && { lost: twice }) })
      },
    }),
  },
  'loss that is told after an own release': {
    caughtBy: 'tells nobody of a loss after an own release',
    mutate(store) {
      const told = new Map<string, Ask['lost']>()
      return {
        async acquire(ask) {
          told.set(ask.id, ask.lost)
          return store.acquire(ask)
        },
        async release(by) {
          const released = await store.release(by)
          if ('id' in by && released.ended) told.get(by.id)?.()
          return released
        },
      }
    },
  },
  'sweep that returns what another sweep did': {
    caughtBy: 'hands each expired lease to one of several sweepers, and forgets none',
    mutate(store) {
      let last: readonly LeaseRecord[] = []
      return {
        async sweep(query) {
          const swept = await store.sweep(query)
          if (swept.length > 0) last = swept
          return swept.length > 0 ? swept : last
        },
      }
    },
  },
  'sweep that ends what is about to expire': {
    caughtBy: 'sweeps no live lease, however little time it has left',
    mutate: (store) => ({
      async sweep(query) {
        const { leases } = await store.list({ limit: 100 })
        const near = leases.filter(({ remaining }) => remaining !== null && remaining < 1000)
        for (const { resource, token } of near) await store.release({ resource, token })
        return [
          ...near.map((lease) => ({ ...lease, state: 'expired' as const })),
          ...(await store.sweep(query)),
        ]
      },
    }),
  },
  'sweep without a limit': {
    caughtBy: 'hands each expired lease to one of several sweepers, and forgets none',
    mutate: (store) => ({ sweep: () => store.sweep({ limit: 1000 }) }),
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
  'read that throws what it was thrown': {
    caughtBy: 'fails with a retryable LeaseError while the backend is out, and recovers',
    mutate: (store) => ({
      read: (names) =>
        store.read(names).catch((error: LeaseError) => {
          throw error.code === 'store-unavailable' ? new TypeError('fetch failed') : error
        }),
    }),
  },
  'outage that counts as final': {
    caughtBy: 'fails with a retryable LeaseError while the backend is out, and recovers',
    mutate: (store) => ({
      renew: (ask) =>
        store.renew(ask).catch((error: LeaseError) => {
          throw error.code === 'store-unavailable' ? new LeaseError('store-failed', error.message) : error
        }),
    }),
  },
  'watch that ends with its first event': {
    caughtBy: 'tells watchers of every change, whoever made it',
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
  'calls that work after close': {
    caughtBy: 'refuses every call after close, and may be closed again',
    mutate: () => ({ close: async () => {}, [Symbol.asyncDispose]: async () => {} }),
  },
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
} satisfies Record<string, Mutant>

/** A store may be an object of a class, whose methods are not copied by a spread. */
function methodsOf(store: LeaseStore): LeaseStore {
  return {
    kind: store.kind,
    supports: store.supports,
    acquire: (ask, call) => store.acquire(ask, call),
    renew: (ask, call) => store.renew(ask, call),
    release: (by, call) => store.release(by, call),
    read: (names, call) => store.read(names, call),
    ...(store.waiting && { waiting: (query, call) => (store as Required<LeaseStore>).waiting(query, call) }),
    list: (query, call) => store.list(query, call),
    sweep: (query, call) => store.sweep(query, call),
    watch: (on, query) => store.watch(on, query),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  }
}

function withToken(answer: Extract<Answer, { granted: true }>, token: number): Answer {
  return { ...answer, lease: { ...answer.lease, token } }
}

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
function overtaking(store: LeaseStore, applies: (ask: Ask) => boolean): Partial<LeaseStore> {
  const waiters = new Map<string, string>()
  return {
    async acquire(ask) {
      const answer = await store.acquire(ask)
      if (answer.granted || answer.holders.length > 0) {
        if (ask.wake) waiters.set(ask.resource, ask.id)
        return answer
      }
      const first = waiters.get(ask.resource)
      if (!first || !applies(ask)) return answer
      await store.release({ resource: ask.resource, id: first })
      return store.acquire(ask)
    },
  }
}
