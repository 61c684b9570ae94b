/** The options of `firestoreStore`, their defaults, limits and checks, and the numbers that the store is tuned with. */
import { type Complete, expectOptions } from '../../base/arguments.ts'

export interface FirestoreStoreOptions {
  /** The path of the collection that keeps the leases. Default `holdfast-leases`. */
  readonly collection?: string | undefined
  /** How many acquire requests may be in flight. The others wait in this process, in order. Default 100. */
  readonly maxInFlight?: number | undefined
}

const DEFAULTS = { collection: 'holdfast-leases', maxInFlight: 100 }

/** The client checks the path of the collection. */
export function checkOptions(options: FirestoreStoreOptions): Complete<FirestoreStoreOptions> {
  expectOptions(options, { collection: 1, maxInFlight: 1 })
  const { collection = DEFAULTS.collection, maxInFlight = DEFAULTS.maxInFlight } = options
  return { collection, maxInFlight }
}

/**
 * If the application terminates its client during a read, the client rejects in a way that nobody can catch, and Node
 * ends the process. A read of a client that is just starting can take seconds.
 */
export const CLOSE_LIMIT_MS = 10_000
/** The field `changed` is an estimate. It may lie this far before the real time of the change. */
export const CHANGED_LAG_MS = 30_000
