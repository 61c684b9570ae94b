import { hasMethods, refuseClient } from '../base/arguments.ts'

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
  get(document: DocumentReference | object): Promise<DocumentSnapshot>
  update(document: DocumentReference | object, data: DocumentFields): unknown
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
