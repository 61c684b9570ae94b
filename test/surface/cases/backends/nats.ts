import { connect } from '@nats-io/transport-node'
import { natsStore } from 'holdfast/nats'
import { natsAudit, natsBus, natsDocuments, natsParts, natsSecrets } from 'holdfast/server'
import { addressOf, type Backend, unique } from '../backend.ts'
import { leasesCase } from '../leases.ts'
import { locksCase } from '../locks.ts'
import { auditCase, busCase, documentsCase, partsCase, secretsCase } from '../server-parts.ts'
import { storeCase } from '../store.ts'

export async function open(): Promise<Backend> {
  const connection = await connect({ servers: addressOf('HOLDFAST_TEST_NATS_URL') })
  return {
    cases: {
      leases: () => leasesCase(() => natsStore(connection)),
      locks: () => locksCase(() => natsStore(connection)),
      store: () => storeCase(() => natsStore(connection, { bucket: unique, replicas: 1, maxInFlight: 10 })),
      async server() {
        await documentsCase(natsDocuments(connection))
        await documentsCase(natsDocuments(connection, { bucket: `${unique}-parts`, replicas: 1 }))
        await auditCase(natsAudit(connection))
        await auditCase(natsAudit(connection, { bucket: `${unique}-parts`, replicas: 1, maxEntries: 100 }))
        await secretsCase(natsSecrets(connection))
        await secretsCase(natsSecrets(connection, { bucket: `${unique}-parts`, replicas: 1 }))
        await busCase(() => natsBus(connection))
        await partsCase(natsParts(connection))
        await partsCase(natsParts(connection, { bucket: `${unique}-all`, replicas: 1 }))
        await busCase(() => natsBus(connection, { subject: `${unique}.bus` }))
      },
    },
    async [Symbol.asyncDispose]() {
      await connection.close()
    },
  }
}
