import { Etcd3 } from 'etcd3'
import { etcdStore } from 'holdfast/etcd'
import { etcdGuard } from 'holdfast/guard'
import { etcdJobs } from 'holdfast/once'
import { etcdAudit, etcdBus, etcdDocuments, etcdParts, etcdSecrets } from 'holdfast/server'
import { addressOf, type Backend, unique } from '../backend.ts'
import { guardCase } from '../guard.ts'
import { leasesCase } from '../leases.ts'
import { locksCase } from '../locks.ts'
import { FIELDS, onceCase, STATUSES } from '../once.ts'
import { auditCase, busCase, documentsCase, partsCase, secretsCase } from '../server-parts.ts'
import { storeCase } from '../store.ts'

export async function open(): Promise<Backend> {
  const client = new Etcd3({ hosts: addressOf('HOLDFAST_TEST_ETCD_URL').replace(/^etcd:/, 'http:') })
  return {
    cases: {
      leases: () => leasesCase(() => etcdStore(client)),
      locks: () => locksCase(() => etcdStore(client)),
      store: () => storeCase(() => etcdStore(client, { prefix: `${unique}/`, maxInFlight: 10 })),
      async guard() {
        const guard = etcdGuard(client, `${unique}:document`)
        await guardCase(guard.announce)
        await guardCase(etcdGuard(client, `${unique}:other`).check)
        await guard.set({ resource: `${unique}:guarded`, token: 35, id: 'lease-35' }, 'saved')
      },
      async server() {
        await documentsCase(etcdDocuments(client))
        await documentsCase(etcdDocuments(client, { prefix: `${unique}/parts/` }))
        await auditCase(etcdAudit(client))
        await auditCase(etcdAudit(client, { prefix: `${unique}/parts/`, maxEntries: 100 }))
        await secretsCase(etcdSecrets(client))
        await secretsCase(etcdSecrets(client, { prefix: `${unique}/parts/` }))
        await busCase(() => etcdBus(client))
        await partsCase(etcdParts(client))
        await partsCase(etcdParts(client, { prefix: `${unique}-all/` }))
        await busCase(() => etcdBus(client, { key: `${unique}-bus` }))
      },
      once: () =>
        onceCase(
          etcdJobs(client),
          etcdJobs(client, { prefix: `${unique}/jobs/`, fields: FIELDS, statuses: STATUSES }),
        ),
    },
    async [Symbol.asyncDispose]() {
      client.close()
    },
  }
}
