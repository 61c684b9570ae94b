/** Mistakes of `acquireAll`. */
import type { Ask, CallOptions, Grant, LeaseStore } from '../../core/index.ts'
import { mutants } from './mutant.ts'

type AcquireAll = NonNullable<LeaseStore['acquireAll']>

const PARTIAL = 'grants none of several requests if one is refused'

export const togetherMutants = mutants({
  'several requests granted as far as they go': {
    caughtBy: PARTIAL,
    mutate: (store) => ({ acquireAll: oneByOne(store) }),
  },
  'several requests that take what others hold': {
    caughtBy: PARTIAL,
    mutate: (store) => ({ acquireAll: oneByOne(store, { replace: 'any' }) }),
  },
  'several requests that pass those who wait': {
    caughtBy: 'does not pass those who wait with several requests',
    mutate: (store) => ({
      async acquireAll(asks, call) {
        const held = await store.read(asks.map(({ resource }) => resource))
        const isHeld = held.some((leases) => leases.length > 0)
        return isHeld ? null : oneByOne(store, { replace: 'any' })(asks, call)
      },
    }),
  },
  'several requests that look first, then write': {
    caughtBy: 'grants several requests to one of many that ask at once',
    mutate: (store) => ({
      async acquireAll(asks, call) {
        const held = await store.read(asks.map(({ resource }) => resource))
        return held.some((leases) => leases.length > 0) ? null : oneByOne(store)(asks, call)
      },
    }),
  },
  'several requests answered in another order': {
    caughtBy: 'grants several requests together',
    mutate: (store) => ({
      acquireAll: async (asks, call) => (await together(store)(asks, call))?.toReversed() ?? null,
    }),
  },
  'several requests that lose their shares': {
    caughtBy: 'grants several requests within their shares',
    mutate: (store) => ({
      acquireAll: (asks, call) =>
        together(store)(
          asks.map((ask) => ({ ...ask, share: undefined })),
          call,
        ),
    }),
  },
  'several requests that hide which lease had expired': {
    caughtBy: 'grants several requests after leases that have expired, and reports these',
    mutate: (store) => ({
      async acquireAll(asks, call) {
        const grants = await together(store)(asks, call)
        return grants?.map(({ granted, lease }) => ({ granted, lease })) ?? null
      },
    }),
  },
  'several requests whose holder is not told of a loss': {
    caughtBy: 'tells the holder of several leases which of them was ended by force',
    mutate: (store) => ({
      acquireAll: (asks, call) =>
        together(store)(
          asks.map(({ lost: _, ...ask }) => ask),
          call,
        ),
    }),
  },
})

function together(store: LeaseStore): AcquireAll {
  return (asks, call) => (store as Required<LeaseStore>).acquireAll(asks, call)
}

function oneByOne(store: LeaseStore, more: Partial<Ask> = {}): AcquireAll {
  return async (asks: readonly Ask[], call?: CallOptions) => {
    const grants: Grant[] = []
    for (const ask of asks) {
      const answer = await store.acquire({ ...ask, ...more }, call)
      if (!answer.granted) return null
      grants.push(answer)
    }
    return grants
  }
}
