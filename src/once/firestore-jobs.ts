import { expectOptions, expectText, hasMethods, refuseClient, show } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { isLonger } from '../base/resource-name.ts'
import { AnswerLimit } from '../clients/answer-limit.ts'
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
import { type DocumentDecision, documentJobs, type JobDocument, type JobDocuments } from './document-jobs.ts'
import type { JobStore } from './job-store.ts'
import { DOCUMENT_FIELDS, fieldsOf, type JobFieldNames, type JobStatuses, statusesOf } from './naming.ts'
import { writeUnlessChanged } from './optimistic.ts'
import { formatTime } from './stored-values.ts'

/**
 * Nothing that has more bytes as JSON fits into a document, which has at most 1 MiB. For requests that are too large for
 * its connection, the client reports an outage, and the outcome of the job would be sent again and again.
 */
const MAX_JSON_BYTES = 8 * 1024 * 1024

export interface FirestoreJobsOptions {
  /** The path of the collection. Default `jobs`. */
  readonly collection?: string | undefined
  /** Other names for the fields, such as `{ status: 'state' }`. Default: the names of `JobFields`. */
  readonly fields?: JobFieldNames | undefined
  readonly statuses?: JobStatuses | undefined
}

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
  const { collection = 'jobs', fields, statuses } = options
  expectText('collection', collection)
  const names = fieldsOf('fields', DOCUMENT_FIELDS, fields)
  const connection = new FirestoreConnection(firestore)
  /** `undefined`: no caller has a limit. */
  let limit: AnswerLimit | undefined

  const documents: JobDocuments = {
    kind: 'firestore',
    explain: (error) => connection.explain(error),
    create: (id, initial) =>
      explained(id, async () => {
        try {
          await documentOf(id).create(initial)
        } catch (error) {
          if (!isAlreadyThere(error)) throw error
        }
      }),
    read: (id) => explained(id, async () => jobDocument(await documentOf(id).get())),
    transact: <T>(id: string, decide: (document: JobDocument | null) => DocumentDecision<T>) =>
      explained(id, () =>
        writeUnlessChanged(
          () => documentOf(id).get(),
          (snapshot) => decide(jobDocument(snapshot)),
          (changed, snapshot) => update(id, changed, snapshot),
          limit,
        ),
      ),
    async complete(tx, id, decide) {
      // A batch of writes has no `get`, and a document no `getAll`.
      if (!hasMethods(tx, 'get', 'getAll', 'update'))
        refuseClient('tx', 'the transaction that runTransaction of Firestore passes to its function', tx)
      // Not read by the transaction, which must not read after its first write.
      const snapshot = await explained(id, () => documentOf(id).get())
      const { answer, fields: changed } = decide(jobDocument(snapshot))
      if (changed) {
        expectSize(id, changed)
        ;(tx as unknown as Transaction).update(documentOf(id), changed, unchangedSince(snapshot))
      }
      return answer
    },
    sweep: (limit) =>
      explained(undefined, async () => {
        const stored = firestore.collection(collection)
        const { docs: oldest, readTime } = await stored.orderBy(names.keptUntil).limit(limit).get()
        const now = formatTime(millis(readTime)) ?? ''
        const isPast = (time: unknown) => typeof time === 'string' && time <= now
        const over = oldest.filter((found) => {
          const lockEnd = found.get(names.lockExpiresAt) ?? null
          return isPast(found.get(names.keptUntil)) && (lockEnd === null || isPast(lockEnd))
        })
        const deleted = await Promise.all(over.map(deleteUnlessChanged))
        return deleted.filter(Boolean).length
      }),
    watch(id, on) {
      try {
        // The client reconnects by itself. After a final error, the waiter still reads the job from time to time.
        return documentOf(id).onSnapshot(on, () => {})
      } catch (error) {
        throw firestoreError(error, id)
      }
    },
  }
  return {
    ...documentJobs(documents, names, statusesOf(statuses)),
    allow(callTimeout) {
      limit ??= new AnswerLimit()
      limit.allow(callTimeout)
    },
  }

  /**
   * A transaction that only writes takes no lock, so its condition is that the document is as it was read. With locks,
   * twenty workers on one job would block each other for seconds, and one that dies would block the others for longer.
   */
  async function update(id: string, fields: DocumentFields, snapshot: DocumentSnapshot): Promise<boolean> {
    expectSize(id, fields)
    const condition = unchangedSince(snapshot)
    const body = async (transaction: Transaction) => transaction.update(documentOf(id), fields, condition)
    try {
      await firestore.runTransaction(body, { maxAttempts: 1 })
      return true
    } catch (error) {
      if (!isConflict(error)) throw error
      return false
    }
  }

  async function deleteUnlessChanged(snapshot: DocumentSnapshot): Promise<boolean> {
    try {
      await documentOf(snapshot.id).delete(unchangedSince(snapshot))
      return true
    } catch (error) {
      if (!isConflict(error)) throw error
      return false
    }
  }

  async function explained<T>(id: string | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await connection.follow(work())
    } catch (error) {
      throw connection.explain(firestoreError(error, id))
    }
  }

  function documentOf(id: string): DocumentReference {
    if (id.includes('/') || id === '.' || id === '..' || /^__.*__$/.test(id))
      throw new LeaseError('invalid-argument', `id: expected an id that Firestore allows, got ${show(id)}`, {
        resource: id,
      })
    return firestore.collection(collection).doc(id)
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
