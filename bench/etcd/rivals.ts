import { setTimeout as sleep } from 'node:timers/promises'
import { Etcd3, EtcdLockFailedError } from 'etcd3'
import { etcdStore } from '../../src/stores/etcd/index.ts'
import { countCalls, leaseRival, lockRival, type Membership, type Rival } from '../contention/rival.ts'

const TTL_S = 30
const POLL_MS = 100
const PREFIX = 'holdfast-bench/'

export const POLLED_LOCK = `Lock of etcd3, asked every ${POLL_MS} ms`

const rivals: Record<string, (client: Etcd3) => Rival> = {
  leases: (client) => {
    const counted = countCalls(etcdStore(client, { prefix: PREFIX }))
    return leaseRival(
      counted.store,
      () => counted.calls,
      async () => client.close(),
    )
  },

  /** It does not wait: who finds it held must ask again. */
  [POLLED_LOCK]: (client) =>
    lockRival(
      async () => {
        for (;;)
          try {
            const lock = await client.lock(`${PREFIX}lock`).ttl(TTL_S).acquire()
            return () => lock.release()
          } catch (error) {
            if (!(error instanceof EtcdLockFailedError)) throw error
            await sleep(POLL_MS)
          }
      },
      async () => client.close(),
    ),

  /** Each candidate has an etcd lease and watches the key of the one before it. */
  'Election of etcd3': (client) =>
    lockRival(
      async () => {
        const campaign = client.election(`${PREFIX}election`, TTL_S).campaign('')
        await campaign.wait()
        return () => campaign.resign()
      },
      async () => client.close(),
    ),
}

export const rivalNames = Object.keys(rivals)

export async function openRival(name: string, { url }: Membership): Promise<Rival | undefined> {
  return rivals[name]?.(new Etcd3({ hosts: url }))
}
