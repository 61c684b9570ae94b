/** Mistakes about tokens, expiry and sweeps. */
import type { Answer, LeaseRecord } from '../../core/index.ts'
import { mutants, timeOf } from './mutant.ts'

export const timeMutants = mutants({
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
  'TTL that is ignored': {
    caughtBy: 'frees an expired lease before any sweep, and hands it back',
    mutate: (store) => ({ acquire: (ask) => store.acquire({ ...ask, ttl: ask.ttl * 100 }) }),
  },
  'expiry by the clock of the caller': {
    caughtBy: 'judges time by its own clock, whatever the clock of the caller says',
    mutate: (store) => ({
      async acquire(ask) {
        const [found = []] = await store.read([ask.resource])
        for (const { token, metadata } of found) {
          const { expires } = metadata ?? {}
          if (Date.now() >= Number(expires)) await store.release({ resource: ask.resource, token })
        }
        return store.acquire({ ...ask, metadata: { ...ask.metadata, expires: Date.now() + ask.ttl } })
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
  'expiry that is written by the clock of the caller': {
    caughtBy: 'judges time by its own clock, whatever the clock of the caller says',
    mutate: (store) => ({
      async acquire(ask) {
        const offMs = Date.now() - (await timeOf(store))
        return store.acquire({ ...ask, ttl: Math.max(1, ask.ttl + offMs) })
      },
    }),
  },
  'sweep by the clock of the caller': {
    caughtBy: 'judges time by its own clock, whatever the clock of the caller says',
    mutate: (store) => ({
      async sweep(query) {
        const { leases } = await store.list({ limit: 100 })
        const over = leases.filter(({ expiresAt }) => (expiresAt ?? Infinity) <= Date.now())
        for (const { resource, token } of over) await store.release({ resource, token })
        return [...over, ...(await store.sweep(query))]
      },
    }),
  },
  'expired lease that a sweep and a grant return': {
    caughtBy: 'hands each expired lease to one of several sweepers, and forgets none',
    mutate(store) {
      const swept = new Map<string, LeaseRecord>()
      return {
        async sweep(query) {
          const leases = await store.sweep(query)
          for (const lease of leases) swept.set(lease.resource, lease)
          return leases
        },
        async acquire(ask) {
          const answer = await store.acquire(ask)
          const replaced = swept.get(ask.resource)
          return answer.granted && replaced ? { replaced, ...answer } : answer
        },
      }
    },
  },
  'swept lease that counts as released': {
    caughtBy: 'hands each expired lease to one of several sweepers, and forgets none',
    mutate: (store) => ({
      async sweep(query) {
        return (await store.sweep(query)).map((lease) => ({ ...lease, state: 'released' }))
      },
    }),
  },
})

function withToken(answer: Extract<Answer, { granted: true }>, token: number): Answer {
  return { ...answer, lease: { ...answer.lease, token } }
}
