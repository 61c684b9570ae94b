import { Etcd3 } from 'etcd3'
import { etcdStore } from 'holdfast/etcd'
import { addressOf, type Backend, unique } from '../backend.ts'
import { leasesCase } from '../leases.ts'
import { storeCase } from '../store.ts'

export async function open(): Promise<Backend> {
  const client = new Etcd3({ hosts: addressOf('HOLDFAST_TEST_ETCD_URL').replace(/^etcd:/, 'http:') })
  return {
    cases: {
      leases: () => leasesCase(() => etcdStore(client)),
      store: () => storeCase(() => etcdStore(client, { prefix: `${unique}/`, maxInFlight: 10 })),
    },
    async [Symbol.asyncDispose]() {
      client.close()
    },
  }
}
