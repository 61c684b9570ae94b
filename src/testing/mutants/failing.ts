/** Mistakes about failures, aborted calls and close. */
import { LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../core/index.ts'
import { mutants } from './mutant.ts'

export const failingMutants = mutants({
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
  'calls that work after close': {
    caughtBy: 'refuses every call after close, and may be closed again',
    mutate: () => ({ close: async () => {}, [Symbol.asyncDispose]: async () => {} }),
  },
  'abort that rejects with the reason as it is': {
    caughtBy: 'answers a caller that gave up, if at all, as aborted',
    mutate: (store) => ({
      async acquire(ask, call) {
        if (call?.signal?.aborted) throw call.signal.reason
        return store.acquire(ask, call)
      },
    }),
  },
  'close that ends the leases': {
    caughtBy: 'keeps leases through a restart',
    mutate(store) {
      const leases: LeaseRecord[] = []
      return {
        async acquire(ask) {
          const answer = await store.acquire(ask)
          if (answer.granted) leases.push(answer.lease)
          return answer
        },
        async close() {
          for (const { resource, token } of leases.splice(0)) await store.release({ resource, token })
          await store.close()
        },
      }
    },
  },
  'close that rejects a release under way': {
    caughtBy: 'carries out a release that is under way when it is closed',
    mutate(store) {
      let isClosed = false
      return {
        async release(by) {
          const released = await store.release(by)
          if (isClosed) throw new LeaseError('closed', 'the store is closed')
          return released
        },
        close() {
          isClosed = true
          return store.close()
        },
      }
    },
  },
  'close that leaves what a request is granted': {
    caughtBy: 'keeps nothing of a request that is under way when it is closed, unless it answers it',
    mutate(store) {
      let isClosed = false
      return {
        async acquire(ask) {
          const answer = await store.acquire(ask)
          if (isClosed) throw new LeaseError('closed', 'the store is closed')
          return answer
        },
        close() {
          isClosed = true
          return store.close()
        },
      }
    },
  },
  'watch that goes on after close': {
    caughtBy: 'tells watchers nothing after close',
    mutate: () => ({ close: async () => {} }),
  },
})
