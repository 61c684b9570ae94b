import { expectOptions, expectText, hasMethods, refuseClient, show } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import {
  type DocumentReference,
  type DocumentSnapshot,
  type FirestoreClient,
  FirestoreConnection,
  type Timestamp,
  type Transaction,
} from '../clients/firestore.ts'
import { firestoreError, isAlreadyThere } from '../clients/firestore-errors.ts'
import { type DocumentDecision, documentJobs, type JobDocument, type JobDocuments } from './document-jobs.ts'
import type { JobStore } from './job-store.ts'
import { DOCUMENT_FIELDS, fieldsOf, type JobFields, type JobStatuses, statusesOf } from './naming.ts'

/** Many transactions on one document make each other run again. The client's own default is 5. */
const MAX_TRANSACTION_ATTEMPTS = 20

export interface FirestoreJobsOptions {
  /** The path of the collection. Default `analyses`. */
  readonly collection?: string
  /** Other names for the fields, such as `{ status: 'state' }`. Default: the names of `JobFields`. */
  readonly fields?: Partial<JobFields>
  readonly statuses?: JobStatuses
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
  const { collection = 'analyses', fields, statuses } = options
  expectText('collection', collection)
  const connection = new FirestoreConnection(firestore)

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
      explained(id, async () => {
        const document = documentOf(id)
        const body = async (transaction: Transaction) => {
          const { answer, fields: changed } = decide(jobDocument(await transaction.get(document)))
          if (changed) transaction.update(document, changed)
          return answer
        }
        return firestore.runTransaction(body, { maxAttempts: MAX_TRANSACTION_ATTEMPTS })
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
  return documentJobs(documents, fieldsOf('fields', DOCUMENT_FIELDS, fields), statusesOf(statuses))

  async function explained<T>(id: string, work: () => Promise<T>): Promise<T> {
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

function jobDocument(snapshot: DocumentSnapshot): JobDocument | null {
  const { updateTime, readTime } = snapshot
  if (!updateTime) return null
  return { get: (field) => snapshot.get(field), now: millis(readTime), updatedAt: millis(updateTime) }
}

function millis({ seconds, nanoseconds }: Timestamp): number {
  return seconds * 1000 + nanoseconds / 1_000_000
}
