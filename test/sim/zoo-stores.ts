import type { LeaseStore } from '../../src/core/index.ts'

/** A planted mistake that only the simulation finds. The suite finds those of `mutateStore`. */
export interface StoreBug {
  readonly name: string
  readonly plant: (store: LeaseStore) => LeaseStore
}

export const storeBugs: readonly StoreBug[] = [
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
