import { expectOptions, hasMethods, refuseClient } from '../base/arguments.ts'
import { suggestStore } from '../base/backend-of.ts'
import { defaultOwner } from '../base/default-owner.ts'
import { createManager, type Leases } from './manager.ts'
import type { LeasesOptions } from './options.ts'
import type { ManagedStore } from './store.ts'

/**
 * Leases on a store: who may write this now, until when?
 *
 * @example
 * const leases = createLeases(sqliteStore('./holdfast.db'))
 * await leases.withLease('invoice:42', async (lease) => save(invoice, lease.token))
 */
export function createLeases(
  store: ManagedStore | PromiseLike<ManagedStore>,
  options: LeasesOptions = {},
): Leases {
  expectOptions(options, {
    owner: 1,
    ttl: 1,
    heartbeat: 1,
    wait: 1,
    retry: 1,
    clock: 1,
    onEvent: 1,
    callTimeout: 1,
    endsWithProcess: 1,
  })
  const { owner = defaultOwner() } = options
  const checked = 'then' in Object(store) ? Promise.resolve(store).then(expectStore) : expectStore(store)
  return createManager(checked, { ...options, owner })
}

function expectStore<S>(store: S): S & ManagedStore {
  if (!hasMethods(store, 'acquire', 'renew', 'release'))
    refuseClient('store', `a LeaseStore such as ${suggestStore(store)}`, store)
  return store as S & ManagedStore
}
