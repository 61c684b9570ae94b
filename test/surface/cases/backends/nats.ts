import { connect } from '@nats-io/transport-node'
import { natsStore } from 'holdfast/nats'
import { addressOf, type Backend, unique } from '../backend.ts'
import { leasesCase } from '../leases.ts'
import { locksCase } from '../locks.ts'
import { storeCase } from '../store.ts'

export async function open(): Promise<Backend> {
  const connection = await connect({ servers: addressOf('HOLDFAST_TEST_NATS_URL') })
  return {
    cases: {
      leases: () => leasesCase(() => natsStore(connection)),
      locks: () => locksCase(() => natsStore(connection)),
      store: () => storeCase(() => natsStore(connection, { bucket: unique, replicas: 1, maxInFlight: 10 })),
    },
    async [Symbol.asyncDispose]() {
      await connection.close()
    },
  }
}
