/** Mistakes of acquire, renew and release. */
import type { Answer, Ask, LeaseRecord } from '../../core/index.ts'
import { mutants } from './mutant.ts'

export const holdingMutants = mutants({
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
  'renewal for anybody who asks': {
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
  'takeover from anybody who holds it': {
    caughtBy: 'refuses to take over from another token',
    mutate: (store) => ({
      async acquire(ask) {
        const [[holder] = []] = await store.read([ask.resource])
        return store.acquire({ ...ask, ...(ask.replace && holder && { replace: holder.token }) })
      },
    }),
  },
  'takeover that says nothing of the old lease': {
    caughtBy: 'takes over from the holder with the given token',
    mutate: (store) => ({
      async acquire(ask) {
        const { replaced: _, ...answer } = (await store.acquire(ask)) as Extract<Answer, { granted: true }>
        return answer
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
  'refusal that names no holder': {
    caughtBy: 'refuses a second asker and says who holds it',
    mutate: (store) => ({
      async acquire(ask) {
        const answer = await store.acquire(ask)
        return answer.granted ? answer : { ...answer, holders: [] }
      },
    }),
  },
  'release after a loss that claims to have ended the lease': {
    caughtBy: 'takes over from the holder with the given token',
    mutate(store) {
      const leases = new Map<string, LeaseRecord>()
      return {
        async acquire(ask) {
          const answer = await store.acquire(ask)
          if (answer.granted) leases.set(ask.id, answer.lease)
          return answer
        },
        async release(by) {
          const released = await store.release(by)
          const own = 'id' in by && leases.get(by.id)
          return released.ended || !own ? released : { ...released, ended: { ...own, state: 'released' } }
        },
      }
    },
  },
})
