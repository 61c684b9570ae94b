import { createLeases, type LeaseError, type LeaseStore } from '../../core/index.ts'
import { asking, type Case, checkHeldBy, grab, type StoreUnderTest } from './case.ts'
import { checkEqual } from './check.ts'

/** A `close` in the middle of a call leaves no lease that nobody holds. */
export const closingCases: readonly Case[] = [
  {
    title: 'carries out a release that is under way when it is closed',
    async run(under) {
      const { store } = under
      const { id, token } = await grab(store, 'released late')
      const releasing = store.release({ resource: 'released late', id })
      await store.close()
      const { ended } = await releasing
      checkEqual([ended?.token, ended?.state], [token, 'released'], 'the lease that the release ended')
      await checkFree(under, 'released late')
    },
  },
  {
    title: 'keeps nothing of a request that is under way when it is closed, unless it answers it',
    async run(under) {
      const { store } = under
      const acquiring = store.acquire(asking('cut short')).catch((error: LeaseError) => error)
      await store.close()
      const outcome = await acquiring
      if ('granted' in outcome) return
      checkEqual(outcome.code, 'closed', 'the failure of the request')
      await checkFree(under, 'cut short')
    },
  },
  {
    title: 'is left without leases by a manager that is closed at any moment of an acquire',
    async run(under) {
      for (const steps of [0, 1, 2, 3, 5, 8, 13, 21]) {
        const resource = `closed after ${steps} steps`
        const leases = createLeases(under.store)
        const acquiring = leases.acquire(resource).catch(() => {})
        for (let n = 0; n < steps; n++) await undefined
        await leases.close()
        await acquiring
        await checkHeldBy(under.peer, resource, [])
      }
    },
  },
  {
    title: 'is left without leases by a manager that is closed with it during an acquire',
    async run(under) {
      const { store } = under
      const leases = createLeases(store)
      const lease = await leases.acquire('held at the end')
      const acquiring = leases.acquire('asked for at the end').catch((error: LeaseError) => error.code)
      await Promise.all([lease.release(), leases.close(), store.close()])
      checkEqual(await acquiring, 'closed', 'the failure of the acquire')
      await checkFree(under, 'held at the end', 'asked for at the end')
    },
  },
  {
    title: 'is left without leases by a manager whose release overtook its request',
    async run({ store, peer }) {
      const late = new LateRequests()
      const leases = createLeases(late.of(store))
      const acquiring = leases.acquire('overtaken').catch((error: LeaseError) => error.code)
      await late.isSent.promise
      const closing = leases.close()
      await late.isOvertaken.promise
      late.mayArrive.resolve()
      checkEqual(await acquiring, 'closed', 'the failure of the acquire')
      await Promise.all([closing, late.isAnswered.promise])
      await checkHeldBy(peer, 'overtaken', [])
    },
  },
]

/** Only another store can look after this one was closed. */
async function checkFree({ peer, hasPeer }: StoreUnderTest, ...resources: string[]): Promise<void> {
  if (hasPeer) for (const resource of resources) await checkHeldBy(peer, resource, [])
}

/** As over a slow connection of a pool: an acquire request is on its way until it may arrive. */
class LateRequests {
  readonly isSent = Promise.withResolvers<void>()
  readonly isOvertaken = Promise.withResolvers<void>()
  readonly mayArrive = Promise.withResolvers<void>()
  readonly isAnswered = Promise.withResolvers<void>()

  of(store: LeaseStore): LeaseStore {
    const { isSent, isOvertaken, mayArrive, isAnswered } = this
    const methods: Partial<LeaseStore> = {
      async acquire(ask) {
        isSent.resolve()
        await mayArrive.promise
        return store.acquire(ask).finally(isAnswered.resolve)
      },
      release: (by, call) => store.release(by, call).finally(isOvertaken.resolve),
    }
    return new Proxy(store, {
      get(_, name) {
        const value = Reflect.get(methods, name) ?? Reflect.get(store, name, store)
        return typeof value === 'function' ? value.bind(store) : value
      },
    })
  }
}
