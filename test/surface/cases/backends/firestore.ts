import { Firestore } from '@google-cloud/firestore'
import { firestoreStore } from 'holdfast/firestore'
import { type Backend, unique } from '../backend.ts'
import { leasesCase } from '../leases.ts'
import { storeCase } from '../store.ts'

/** The client finds the emulator by `FIRESTORE_EMULATOR_HOST`. */
export async function open(): Promise<Backend> {
  const client = new Firestore({ projectId: 'holdfast-surface' })
  return {
    cases: {
      leases: () => leasesCase(() => firestoreStore(client)),
      store: () => storeCase(() => firestoreStore(client, { collection: unique, maxInFlight: 10 })),
    },
    async [Symbol.asyncDispose]() {
      await client.terminate()
    },
  }
}
