import { AnswerLimit } from '../base/answer-limit.ts'
import { expectOptions, expectText, hasMethods, refuseClient, show } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { isLonger } from '../base/resource-name.ts'
import {
  type DocumentFields,
  type DocumentReference,
  type DocumentSnapshot,
  type FirestoreClient,
  FirestoreConnection,
  type Precondition,
  type Timestamp,
  type Transaction,
} from '../clients/firestore.ts'
import { firestoreError, isAlreadyThere, isConflict } from '../clients/firestore-errors.ts'
import type { DocumentDecision, JobDocument } from './document-format.ts'
import { documentJobs, type JobDocuments } from './document-jobs.ts'
import type { JobStore } from './job-store.ts'
import { DOCUMENT_FIELDS, fieldsOf, type JobFields, statusesOf } from './naming.ts'
import { writeUnlessChanged } from './optimistic.ts'
import { DEFAULT_JOBS, type FirestoreJobsOptions, MAX_JSON_BYTES } from './options.ts'
import { formatTime } from './stored-values.ts'

/**
 * Jobs that are documents of Firestore. Each is locked by a transaction on its own document, and its other fields
 * are not changed. The clock is the server's.
 *
 * @example
 * const once = createOnce(firestoreJobs(new Firestore()))
 */
export function firestoreJobs(firestore: FirestoreClient, options: FirestoreJobsOptions = {}): JobStore {
  if (!hasMethods(firestore, 'collection', 'runTransaction'))
    refuseClient('firestore', 'a Firestore client', firestore)
  expectOptions(options, { collection: 1, fields: 1, statuses: 1 })
  const { collection = DEFAULT_JOBS, fields, statuses } = options
  expectText('collection', collection)
  const names = fieldsOf('fields', DOCUMENT_FIELDS, fields)
  const documents = new FirestoreDocuments(firestore, collection, names)
  return {
    ...documentJobs(documents, names, statusesOf(statuses)),
    allow: (callTimeout) => documents.allow(callTimeout),
  }
}

class FirestoreDocuments implements JobDocuments {
  readonly kind = 'firestore'
  readonly #firestore: FirestoreClient
  readonly #collection: string
  readonly #names: JobFields
  readonly #connection: FirestoreConnection
  /** `undefined`: no caller has a limit. */
  #limit: AnswerLimit | undefined

  constructor(firestore: FirestoreClient, collection: string, names: JobFields) {
    this.#firestore = firestore
    this.#collection = collection
    this.#names = names
    this.#connection = new FirestoreConnection(firestore)
  }

  allow(callTimeout: number): void {
    this.#limit ??= new AnswerLimit()
    this.#limit.allow(callTimeout)
  }

  explain(error: LeaseError): LeaseError {
    return this.#connection.explain(error)
  }

  create(id: string, initial: DocumentFields): Promise<void> {
    return this.#explained(id, async () => {
      try {
        await this.#documentOf(id).create(initial)
      } catch (error) {
        if (!isAlreadyThere(error)) throw error
      }
    })
  }

  read(id: string): Promise<JobDocument | null> {
    return this.#explained(id, async () => jobDocument(await this.#documentOf(id).get()))
  }

  transact<T>(id: string, decide: (document: JobDocument | null) => DocumentDecision<T>): Promise<T> {
    const stored = {
      read: () => this.#documentOf(id).get(),
      write: (changed: DocumentFields, snapshot: DocumentSnapshot) => this.#update(id, changed, snapshot),
      limit: this.#limit,
    }
    return this.#explained(id, () => writeUnlessChanged(stored, (snapshot) => decide(jobDocument(snapshot))))
  }

  async complete(
    tx: object,
    id: string,
    decide: (document: JobDocument | null) => DocumentDecision<boolean>,
  ): Promise<boolean> {
    // A batch of writes has no `get`, and a document no `getAll`.
    if (!hasMethods(tx, 'get', 'getAll', 'update'))
      refuseClient('tx', 'the transaction that runTransaction of Firestore passes to its function', tx)
    // Not read by the transaction, which must not read after its first write.
    const snapshot = await this.#explained(id, () => this.#documentOf(id).get())
    const { answer, fields: changed } = decide(jobDocument(snapshot))
    if (changed) {
      expectSize(id, changed)
      ;(tx as unknown as Transaction).update(this.#documentOf(id), changed, unchangedSince(snapshot))
    }
    return answer
  }

  sweep(limit: number): Promise<number> {
    return this.#explained(undefined, async () => {
      const stored = this.#firestore.collection(this.#collection)
      const { docs: oldest, readTime } = await stored.orderBy(this.#names.keptUntil).limit(limit).get()
      const now = formatTime(millis(readTime)) ?? ''
      const isPast = (time: unknown) => typeof time === 'string' && time <= now
      const over = oldest.filter((found) => {
        const lockEnd = found.get(this.#names.lockExpiresAt) ?? null
        return isPast(found.get(this.#names.keptUntil)) && (lockEnd === null || isPast(lockEnd))
      })
      const deleted = await Promise.all(over.map((found) => this.#deleteUnlessChanged(found)))
      return deleted.filter(Boolean).length
    })
  }

  watch(id: string, on: () => void): () => void {
    try {
      // The client reconnects by itself. After a final error, the waiter still reads the job from time to time.
      return this.#documentOf(id).onSnapshot(on, () => {})
    } catch (error) {
      throw firestoreError(error, id)
    }
  }

  /**
   * A transaction that only writes takes no lock, so its condition is that the document is as it was read. With locks,
   * twenty workers on one job would block each other for seconds, and one that dies would block the others for longer.
   */
  async #update(id: string, fields: DocumentFields, snapshot: DocumentSnapshot): Promise<boolean> {
    expectSize(id, fields)
    const condition = unchangedSince(snapshot)
    const body = async (transaction: Transaction) =>
      transaction.update(this.#documentOf(id), fields, condition)
    try {
      await this.#firestore.runTransaction(body, { maxAttempts: 1 })
      return true
    } catch (error) {
      if (!isConflict(error)) throw error
      return false
    }
  }

  async #deleteUnlessChanged(snapshot: DocumentSnapshot): Promise<boolean> {
    try {
      await this.#documentOf(snapshot.id).delete(unchangedSince(snapshot))
      return true
    } catch (error) {
      if (!isConflict(error)) throw error
      return false
    }
  }

  async #explained<T>(id: string | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#connection.follow(work())
    } catch (error) {
      throw this.#connection.explain(firestoreError(error, id))
    }
  }

  #documentOf(id: string): DocumentReference {
    if (id.includes('/') || id === '.' || id === '..' || /^__.*__$/.test(id))
      throw new LeaseError('invalid-argument', `id: expected an id that Firestore allows, got ${show(id)}`, {
        resource: id,
      })
    return this.#firestore.collection(this.#collection).doc(id)
  }
}

function expectSize(id: string, fields: DocumentFields): void {
  if (!isLonger(JSON.stringify(fields), MAX_JSON_BYTES)) return
  const message = 'Firestore: expected a result that fits into a document of 1 MiB'
  throw new LeaseError('store-failed', message, { resource: id })
}

function unchangedSince({ updateTime }: DocumentSnapshot): Precondition | undefined {
  return updateTime && { lastUpdateTime: updateTime }
}

function jobDocument(snapshot: DocumentSnapshot): JobDocument | null {
  const { updateTime, readTime } = snapshot
  if (!updateTime) return null
  return { get: (field) => snapshot.get(field), now: millis(readTime), updatedAt: millis(updateTime) }
}

function millis({ seconds, nanoseconds }: Timestamp): number {
  return seconds * 1000 + nanoseconds / 1_000_000
}
