import { hasMethods, refuseClient } from '../base/arguments.ts'
import { systemClock } from '../base/clock.ts'
import type { LeaseError } from '../base/errors.ts'
import { connectionTrouble, withTrouble } from './connection.ts'
import { PROBE_AFTER_MS, PROBE_LIMIT_MS } from './options.ts'

/**
 * The part of `Firestore` from `@google-cloud/firestore` or `firebase-admin` that Holdfast uses. Parameters are as
 * wide as they are there, because the real types would not fit otherwise.
 */
export interface FirestoreClient {
  collection(path: string): Collection
  getAll(...documents: (DocumentReference | object)[]): Promise<DocumentSnapshot[]>
  runTransaction<T>(
    body: (transaction: Transaction) => Promise<T>,
    options?: { maxAttempts?: number },
  ): Promise<T>
}

export interface Transaction {
  update(document: DocumentReference | object, data: DocumentFields, condition?: Precondition): unknown
}

export interface Collection extends Query {
  doc(id: string): DocumentReference
}

export interface Query {
  where(field: string, operator: '<=' | '>=' | '>', value: unknown): Query
  orderBy(field: string): Query
  startAfter(document: DocumentSnapshot): Query
  limit(count: number): Query
  get(): Promise<{ readonly docs: DocumentSnapshot[]; readonly readTime: Timestamp }>
  onSnapshot(
    onNext: (snapshot: { docChanges(): DocumentChange[] }) => void,
    onError: (error: Error) => void,
  ): () => void
}

export interface DocumentReference {
  readonly id: string
  get(): Promise<DocumentSnapshot>
  create(data: DocumentFields): Promise<{ readonly writeTime: Timestamp }>
  update(data: DocumentFields, condition?: Precondition): Promise<{ readonly writeTime: Timestamp }>
  delete(condition?: Precondition): Promise<unknown>
  onSnapshot(onNext: () => void, onError: (error: Error) => void): () => void
}

export interface Precondition {
  lastUpdateTime?: Timestamp
}

export interface DocumentSnapshot {
  readonly id: string
  get(field: string): unknown
  /** Missing if the document does not exist. */
  readonly updateTime?: Timestamp | undefined
  readonly readTime: Timestamp
}

export interface DocumentChange {
  readonly type: string
  readonly doc: DocumentSnapshot
}

export interface Timestamp {
  readonly seconds: number
  readonly nanoseconds: number
}

export type DocumentFields = Record<string, unknown>

export function expectFirestore(option: string, value: unknown): asserts value is FirestoreClient {
  if (!hasMethods(value, 'collection', 'getAll', 'runTransaction'))
    refuseClient(option, 'a Firestore of @google-cloud/firestore or firebase-admin', value)
}

/**
 * Why Firestore does not answer. Its client repeats a request for minutes and reports nothing meanwhile. So when a
 * request takes long, the address of the service is tried once, without credentials, to learn why it is silent.
 */
export class FirestoreConnection {
  readonly #address: string
  #wasConnected = false
  #error: unknown

  constructor(client: object) {
    const { servicePath, apiEndpoint, host, port, ssl } = Object(
      (client as { _settings?: unknown })._settings,
    )
    const name = servicePath ?? host ?? apiEndpoint ?? 'firestore.googleapis.com'
    this.#address = `${ssl === false ? 'http' : 'https'}://${name}${port === undefined ? '' : `:${port}`}`
  }

  async follow<T>(request: Promise<T>): Promise<T> {
    const cancel = systemClock.setTimer(() => void this.#probe(), PROBE_AFTER_MS, true)
    try {
      const answer = await request
      this.#wasConnected = true
      this.#error = undefined
      return answer
    } finally {
      cancel()
    }
  }

  trouble(): Error | undefined {
    if (this.#error === undefined) return undefined
    return connectionTrouble(this.#wasConnected, this.#error, this.#address)
  }

  explain(error: LeaseError): LeaseError {
    return withTrouble(error, this.trouble())
  }

  async #probe(): Promise<void> {
    try {
      await fetch(this.#address, { method: 'HEAD', signal: AbortSignal.timeout(PROBE_LIMIT_MS) })
      this.#error = undefined
    } catch (error) {
      // The cause of a failed `fetch` says why.
      this.#error = (Object(error) as { readonly cause?: unknown }).cause ?? error
    }
  }
}
