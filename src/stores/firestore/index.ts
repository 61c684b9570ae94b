import type { FirestoreClient } from '../../clients/firestore.ts'
import { LeaseError, type LeaseStore } from '../../core/index.ts'
import { registerStore } from '../registers/store.ts'
import { DocumentRegisters } from './document-registers.ts'

export type { FirestoreClient }

export interface FirestoreStoreOptions {
  /** The path of the collection that keeps the leases. Default `holdfast-leases`. */
  readonly collection?: string
}

/**
 * Leases in a collection of Firestore. Takes a client of yours and leaves it open.
 *
 * @example
 * const leases = createLeases(firestoreStore(new Firestore()))
 */
export function firestoreStore(firestore: FirestoreClient, options: FirestoreStoreOptions = {}): LeaseStore {
  const { collection = 'holdfast-leases' } = options
  if (typeof firestore?.collection !== 'function') refuse('firestore', 'a Firestore client')
  if (typeof collection !== 'string' || collection === '') refuse('collection', 'the path of a collection')
  return registerStore('firestore', new DocumentRegisters(firestore, collection))
}

function refuse(option: string, expected: string): never {
  throw new LeaseError('invalid-argument', `firestoreStore: expected ${option} to be ${expected}`)
}
