import type { EtcdClient } from '../../../src/stores/etcd/index.ts'

type Txn = (request: unknown, options: unknown) => Promise<unknown>

/**
 * A client whose first answer to every transaction is lost, so that it repeats the transaction, as `etcd3` does.
 * `meanwhile` is called after a transaction that wrote on a condition.
 */
export function afterLostAnswers(
  client: EtcdClient,
  meanwhile: () => Promise<unknown> = async () => {},
): EtcdClient {
  const txn = client.kv.txn.bind(client.kv) as Txn
  return {
    ...partsOf(client),
    kv: {
      async txn(request: never, options: never) {
        await txn(request, options)
        if (conditionsIn(request) > 0) await meanwhile()
        return txn(request, options)
      },
    },
  }
}

/** The parts of the client that Holdfast uses, some of which a test may replace. */
export function partsOf({ prefix, kv, leaseClient, watchClient }: EtcdClient): EtcdClient {
  return { prefix, kv, leaseClient, watchClient }
}

function conditionsIn({ compare }: { readonly compare: readonly unknown[] }): number {
  return compare.length
}
