/**
 * What the store uses of `Firestore` from `@google-cloud/firestore`, or from `firebase-admin`. Parameters are as
 * wide as they are there, since theirs would not fit otherwise.
 */
export interface FirestoreClient {
  collection(path: string): Collection
  getAll(...documents: (DocumentReference | object)[]): Promise<DocumentSnapshot[]>
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
}

export interface Precondition {
  lastUpdateTime?: Timestamp
}

export interface DocumentSnapshot {
  readonly id: string
  get(field: string): unknown
  /** Missing where there is no document. */
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
