import { Etcd3 } from 'etcd3'
import { etcdStore } from '../../src/stores/etcd/index.ts'
import {
  type Closable,
  compareCycles,
  contender,
  expectOne,
  TTL_MS,
  throughManager,
  throughPort,
} from '../contention/cycles.ts'

const BARE = 'bare put with a lease, and delete'

export async function benchUncontended(hosts: string): Promise<void> {
  const client = new Etcd3({ hosts })
  const own = () => etcdStore(client, { prefix: freshPrefix() })
  const contenders = [bareTransaction(client), throughPort(own()), throughManager(own()), lockOfEtcd3(client)]
  await compareCycles('etcd', contenders, BARE, { rounds: 12 })
  for (const { close } of contenders) await close()
  client.close()
}

/** One etcd lease for all keys: the key of a process that dies ends with it. No expiry of a single key. */
function bareTransaction(client: Etcd3): Closable {
  const space = client.namespace(freshPrefix())
  const lease = space.lease(TTL_MS / 1000)
  const cycle = async (key: string) => {
    const owner = crypto.randomUUID()
    const leaseId = await lease.grant()
    const { succeeded } = await space
      .if(key, 'Create', '==', 0)
      .then(space.put(key).value(owner).lease(leaseId))
      .commit()
    expectOne(Number(succeeded))
    const released = await space.if(key, 'Value', '==', owner).then(space.delete().key(key)).commit()
    expectOne(Number(released.succeeded))
  }
  return contender(BARE, cycle, () => lease.revoke())
}

function lockOfEtcd3(client: Etcd3): Closable {
  const space = client.namespace(freshPrefix())
  return contender('Lock of etcd3', async (key) => {
    const lock = await space
      .lock(key)
      .ttl(TTL_MS / 1000)
      .acquire()
    await lock.release()
  })
}

/** A server from the environment may have keys of an earlier run. */
function freshPrefix(): string {
  return `holdfast-bench-${crypto.randomUUID()}/`
}
