/** Stores with a mistake that only real processes show. The address: the mistake, a colon and the place of the data. */
import type { LeaseStore } from '../../src/core/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import type { OpenedStore } from '../../src/testing/node/index.ts'

export type Mistake = 'grants twice' | 'overtakes' | 'ends early' | 'ends late'

export function openStore(address: string): OpenedStore {
  const [mistake, place = ''] = address.split(':')
  const store = BROKEN[mistake as Mistake](place)
  return { store, close: () => store.close() }
}

const BROKEN: Record<Mistake, (place: string) => LeaseStore> = {
  /** Takes the lease from its holder, which does not learn of it. */
  'grants twice': (place) => stealing(place, () => true),
  /** Takes what is kept for the first waiter. */
  overtakes: (place) => stealing(place, (holders) => holders === 0),
  /** Answers at a time for which nothing keeps the process alive. */
  'ends early': () => {
    const store = memoryStore()
    return {
      ...store,
      async acquire(ask) {
        await new Promise((resolve) => setTimeout(resolve, 100).unref())
        return store.acquire(ask)
      },
    }
  },
  /** A timer of the store outlives it. */
  'ends late': () => {
    setInterval(() => {}, 1000)
    return memoryStore()
  },
}

function stealing(place: string, steals: (holders: number) => boolean): LeaseStore {
  const store = sqliteStore(place)
  const acquire = store.acquire.bind(store)
  store.acquire = async ({ lost: _, ...ask }, call) => {
    const answer = await acquire(ask, call)
    if (answer.granted || !steals(answer.holders.length)) return answer
    return acquire({ ...ask, replace: 'any' }, call)
  }
  return store
}
