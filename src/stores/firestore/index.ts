import { expectOptions, refuse } from '../../base/arguments.ts'
import { type Collection, expectFirestore, type FirestoreClient } from '../../clients/firestore.ts'
import type { LeaseStore } from '../../core/index.ts'
import { registerStore } from '../registers/index.ts'
import { DocumentRegisters } from './registers.ts'

export type { FirestoreClient }

/**
 * If the application terminates its client during a read, the client rejects in a way that nobody can catch, and Node
 * ends the process. A read of a client that is just starting can take seconds.
 */
const CLOSE_LIMIT_MS = 10_000

export interface FirestoreStoreOptions {
  /** The path of the collection that keeps the leases. Default `holdfast-leases`. */
  readonly collection?: string
  /** How many acquire requests may be in flight. The others wait in this process, in order. Default 100. */
  readonly maxInFlight?: number
}

/**
 * Leases in a collection of Firestore. Uses your client and leaves it open.
 *
 * @example
 * const leases = createLeases(firestoreStore(new Firestore()))
 */
export function firestoreStore(firestore: FirestoreClient, options: FirestoreStoreOptions = {}): LeaseStore {
  expectFirestore('firestore', firestore)
  expectOptions(options, { collection: 1, maxInFlight: 1 })
  const { collection = 'holdfast-leases', maxInFlight = 100 }: FirestoreStoreOptions = options
  const registers = new DocumentRegisters(firestore, collectionAt(firestore, collection))
  return registerStore(registers, {
    kind: 'firestore',
    backend: 'Firestore',
    closeLimitMs: CLOSE_LIMIT_MS,
    maxInFlight,
  })
}

function collectionAt(firestore: FirestoreClient, path: string): Collection {
  try {
    return firestore.collection(path)
  } catch {
    // The client says what is wrong with the path, but in an error of its own.
    refuse('collection', "the path of a collection, such as 'leases' or 'apps/shop/leases'", path)
  }
}
