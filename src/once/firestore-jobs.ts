import { LeaseError } from '../core/index.ts'
import { expectName, refuse, refuseId } from './checks.ts'
import { type Documents, documentJobs, type JobDocument, type Verdict } from './document-jobs.ts'
import type {
  DocumentReference,
  DocumentSnapshot,
  FirestoreClient,
  Timestamp,
  Transaction,
} from './firestore-client.ts'
import type { JobStore } from './job-store.ts'
import { DOCUMENT_FIELDS, fieldsOf, type JobFields, type JobStatuses, statusesOf } from './naming.ts'

/** Of gRPC: after these the same call may succeed. The client has tried again by itself before it tells them. */
const PASSING = {
  cancelled: 1,
  unknown: 2,
  deadline: 4,
  exhausted: 8,
  aborted: 10,
  internal: 13,
  unavailable: 14,
}
const ALREADY_EXISTS = 6
/** Many at once on one document make each other try again; the client's own default is 5. */
const MAX_TRANSACTION_ATTEMPTS = 20

export interface FirestoreJobsOptions {
  /** The path of the collection. Default `analyses`. */
  readonly collection?: string
  /** Other names for the fields, such as `{ status: 'state' }`. Default: the names of `JobFields`. */
  readonly fields?: Partial<JobFields>
  readonly statuses?: JobStatuses
}

/**
 * Jobs that are documents of Firestore, each locked by a transaction on itself; its other fields stay untouched.
 * The clock is the server's.
 *
 * @example
 * const once = createOnce(firestoreJobs(new Firestore()))
 */
export function firestoreJobs(firestore: FirestoreClient, options: FirestoreJobsOptions = {}): JobStore {
  const { collection = 'analyses', fields, statuses } = options
  if (typeof firestore?.runTransaction !== 'function') refuse('firestore', 'a Firestore client', firestore)
  expectName('collection', collection)

  const documents: Documents = {
    kind: 'firestore',
    async create(id, initial) {
      try {
        await documentOf(id).create(initial)
      } catch (error) {
        if (codeOf(error) !== ALREADY_EXISTS) throw explain(error, id)
      }
    },
    async read(id) {
      const document = documentOf(id)
      return look(await document.get().catch((error) => Promise.reject(explain(error, id))))
    },
    async transact<T>(id: string, decide: (document: JobDocument | null) => Verdict<T>) {
      const document = documentOf(id)
      const body = async (transaction: Transaction) => {
        const { answer, fields: changed } = decide(look(await transaction.get(document)))
        if (changed) transaction.update(document, changed)
        return answer
      }
      try {
        return await firestore.runTransaction(body, { maxAttempts: MAX_TRANSACTION_ATTEMPTS })
      } catch (error) {
        throw explain(error, id)
      }
    },
    watch(id, on) {
      // The client mends its stream by itself; after a final error the waiter's own looks go on.
      return documentOf(id).onSnapshot(on, () => {})
    },
  }
  return documentJobs(documents, fieldsOf(DOCUMENT_FIELDS, fields), statusesOf(statuses))

  function documentOf(id: string): DocumentReference {
    if (id.includes('/') || id === '.' || id === '..' || /^__.*__$/.test(id))
      refuseId(id, 'the id of a document of Firestore')
    return firestore.collection(collection).doc(id)
  }
}

function look(snapshot: DocumentSnapshot): JobDocument | null {
  const { updateTime, readTime } = snapshot
  if (!updateTime) return null
  return { get: (field) => snapshot.get(field), now: millis(readTime), updatedAt: millis(updateTime) }
}

function millis({ seconds, nanoseconds }: Timestamp): number {
  return seconds * 1000 + nanoseconds / 1_000_000
}

function explain(error: unknown, id: string): LeaseError {
  if (error instanceof LeaseError) return error
  const passing = Object.values(PASSING).includes(codeOf(error))
  const message = error instanceof Error ? error.message : String(error)
  return new LeaseError(passing ? 'store-unavailable' : 'store-failed', `Firestore: ${message}`, {
    cause: error,
    resource: id,
  })
}

function codeOf(error: unknown): number {
  return Number((Object(error) as { readonly code?: unknown }).code)
}
