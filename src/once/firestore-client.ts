/** What jobs use of `Firestore` from `@google-cloud/firestore`, or from `firebase-admin`. */
export interface FirestoreClient {
  collection(path: string): { doc(id: string): DocumentReference }
  runTransaction<T>(
    body: (transaction: Transaction) => Promise<T>,
    options?: { maxAttempts?: number },
  ): Promise<T>
}

export interface Transaction {
  get(document: DocumentReference): Promise<DocumentSnapshot>
  update(document: DocumentReference, data: Record<string, unknown>): unknown
}

export interface DocumentReference {
  create(data: Record<string, unknown>): Promise<unknown>
  get(): Promise<DocumentSnapshot>
  onSnapshot(onNext: () => void, onError: (error: Error) => void): () => void
}

export interface DocumentSnapshot {
  get(field: string): unknown
  /** Missing where there is no document. */
  readonly updateTime?: Timestamp | undefined
  readonly readTime: Timestamp
}

export interface Timestamp {
  readonly seconds: number
  readonly nanoseconds: number
}
