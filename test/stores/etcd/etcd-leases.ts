import type { Etcd3 } from 'etcd3'

/** The etcd lease to which a key is attached; empty if there is no such key. */
export async function etcdLeaseOf(client: Etcd3, key: string): Promise<string> {
  return (await client.get(key).exec()).kvs[0]?.lease ?? ''
}
