/*
 * Leases in etcd. Atomic by a transaction that compares revisions, which are the tokens, so there is nothing to
 * delete. Time is etcd's own leases.
 *
 * A lease is two keys: one attached to an etcd lease, and one that stays, so that the expiry is returned once.
 * `spare-leases.ts` lends etcd leases from one grant to the next. `replicas.ts` follows by the watch what somebody
 * here waits for. Each process judges by its own clock which waiter missed its turn (`waiter-turns.ts`); that
 * decides only who is next.
 */
import { type EtcdClient, etcdDatabase } from '../../clients/etcd.ts'
import type { LeaseStore } from '../../core/index.ts'
import { checkOptions, type EtcdStoreOptions } from './options.ts'
import { EtcdStore } from './store.ts'

export type { EtcdClient } from '../../clients/etcd.ts'
export type { EtcdStoreOptions } from './options.ts'

/**
 * Leases in etcd, which its cluster agrees on. Takes an `Etcd3` of `etcd3`, or one of its namespaces, and leaves it open.
 *
 * @example
 * const leases = createLeases(etcdStore(new Etcd3({ hosts: ['http://a:2379', 'http://b:2379', 'http://c:2379'] })))
 */
export function etcdStore(client: EtcdClient, options: EtcdStoreOptions = {}): LeaseStore {
  const database = etcdDatabase(client)
  return new EtcdStore(database, checkOptions(options, database.prefix))
}
