/** Clients of etcd whose requests meet what seldom happens. */
import type { EtcdClient } from '../../../src/stores/etcd/index.ts'

type Txn = (request: { readonly compare: readonly unknown[] }, options: unknown) => Promise<unknown>

/**
 * The first answer to every transaction is lost, so the client repeats the transaction, as `etcd3` does. `meanwhile` is
 * called after a transaction with conditions.
 */
export function afterLostAnswers(
  client: EtcdClient,
  meanwhile: () => Promise<unknown> = async () => {},
): EtcdClient {
  return withTxn(client, (txn) => async (request, options) => {
    await txn(request, options)
    if (request.compare.length > 0) await meanwhile()
    return txn(request, options)
  })
}

/** `first` is called before every transaction with conditions. */
export function beforeWrites(client: EtcdClient, first: () => Promise<unknown>): EtcdClient {
  return withTxn(client, (txn) => async (request, options) => {
    if (request.compare.length > 0) await first()
    return txn(request, options)
  })
}

/** The parts of the client that Holdfast uses, some of which a test may replace. */
export function partsOf({ prefix, kv, leaseClient, watchClient }: EtcdClient): EtcdClient {
  return { prefix, kv, leaseClient, watchClient }
}

function withTxn(client: EtcdClient, wrap: (txn: Txn) => Txn): EtcdClient {
  const txn = wrap(client.kv.txn.bind(client.kv) as unknown as Txn)
  return { ...partsOf(client), kv: { txn: txn as unknown as EtcdClient['kv']['txn'] } }
}
