import { expectFunction, expectText, expectWhole } from '../base/arguments.ts'
import {
  type DocumentDecision,
  type DocumentFields,
  DocumentFormat,
  type JobDocument,
} from './document-format.ts'
import {
  expectFinish,
  expectHolder,
  expectId,
  expectRefresh,
  expectRequest,
  notFound,
} from './job-arguments.ts'
import type { JobAnswer, JobStore } from './job-store.ts'
import type { JobFields, Statuses } from './naming.ts'
import { MAX_CREATIONS } from './options.ts'
import {
  type Decision,
  decideAcquire,
  decideComplete,
  decideFinish,
  decideRefresh,
  decideRelease,
  isFinishedBy,
  type LockedJob,
  type LockRequest,
} from './rules.ts'

/** A backend that reads and changes one record in a transaction. */
export interface JobDocuments {
  readonly kind: string
  /** Leaves an existing record as it is. */
  create(id: string, fields: DocumentFields): Promise<void>
  read(id: string): Promise<JobDocument | null>
  /** Writes the fields that `decide` returns. The transaction may run again, so `decide` has no side effects. */
  transact<T>(id: string, decide: (document: JobDocument | null) => DocumentDecision<T>): Promise<T>
  /** As `transact`, but in the caller's own transaction, whose errors are passed on unchanged. */
  complete?(
    tx: object,
    id: string,
    decide: (document: JobDocument | null) => DocumentDecision<boolean>,
  ): boolean | Promise<boolean>
  watch?(id: string, on: () => void): () => void
  explain?: JobStore['explain']
  /** Called before the first request that needs `KEPT_FIELDS`, and before each that follows a failure. */
  addKeptFields?(): Promise<void>
  /** As in `JobStore`. */
  sweep?: JobStore['sweep']
}

/** Jobs on any backend of documents, by the rules. */
export function documentJobs(documents: JobDocuments, names: JobFields, statuses: Statuses): JobStore {
  const { kind, watch, sweep } = documents
  const format = new DocumentFormat(names, statuses)
  const kept = new KeptFields(documents)
  return {
    kind,
    explain: (error) => documents.explain?.(error) ?? error,
    async add(id) {
      expectId(id)
      await documents.create(id, format.newJob())
    },
    async acquire(id, owner, ttlMs, options) {
      const request = expectRequest(id, owner, ttlMs, options)
      const { create } = request
      if (create) await kept.prepare()
      for (let creations = 1; ; creations++) {
        const answer = await attempt(id, request)
        if (answer) return answer
        if (!create || creations > MAX_CREATIONS) throw notFound(id)
        await documents.create(id, format.newJob(create.fingerprint))
      }
    },
    async refresh(id, owner, ttlMs) {
      expectRefresh(id, owner, ttlMs)
      return decided(id, (job, now) => decideRefresh(job, owner, ttlMs, now))
    },
    async finish(id, holder, outcome) {
      expectFinish(id, holder, outcome)
      if (outcome.keepMs !== undefined) await kept.prepare()
      return decided(id, (job, now) => decideFinish(job, holder, outcome, now))
    },
    ...completion(documents, format),
    async release(id, owner) {
      expectId(id)
      expectText('owner', owner)
      return decided(id, (job) => decideRelease(job, owner))
    },
    async read(id) {
      expectId(id)
      const document = await documents.read(id)
      return document && format.jobOf(id, document)
    },
    ...(sweep && {
      async sweep(limit: number) {
        expectWhole('limit', limit, 1)
        await kept.prepare()
        return sweep.call(documents, limit)
      },
    }),
    ...(watch && {
      watch(id: string, on: () => void) {
        expectId(id)
        expectFunction('on', on)
        return watch.call(documents, id, on)
      },
    }),
  }

  /** `null`: the job does not exist. */
  function attempt(id: string, request: LockRequest): Promise<JobAnswer | null> {
    return documents.transact<JobAnswer | null>(id, (document) => {
      if (!document) return { answer: null }
      const { answer, change } = decideAcquire(format.lockOf(document), request, document.now)
      const isFinished = !answer.granted && answer.reason === 'already_finished'
      return {
        answer: isFinished ? { ...answer, job: format.jobOf(id, document) } : answer,
        ...(change && { fields: format.fieldsOf(change) }),
      }
    })
  }

  function decided<T>(id: string, decide: (job: LockedJob, now: number) => Decision<T>): Promise<T> {
    return documents.transact(id, (document) => {
      if (!document) throw notFound(id)
      return format.inFields(decide(format.lockOf(document), document.now))
    })
  }
}

/** Outcomes in transactions of the application. Empty: this backend cannot take part in one. */
function completion(
  documents: JobDocuments,
  format: DocumentFormat,
): Pick<JobStore, 'complete' | 'completed'> {
  const { complete } = documents
  if (!complete) return {}
  return {
    complete(tx, id, holder, outcome) {
      expectFinish(id, holder, outcome)
      return complete.call(documents, tx, id, (document) => {
        if (!document) return { answer: false }
        return format.inFields(decideComplete(format.lockOf(document), holder, outcome, document.now))
      })
    },
    async completed(id, holder) {
      expectHolder(id, holder)
      // Not a plain read, which could be part of an open transaction of the application.
      return documents.transact(id, (document) => ({
        answer: document !== null && isFinishedBy(format.lockOf(document), holder),
      }))
    },
  }
}

/** Adds the fields of results that are kept, before the first request that needs them. */
class KeptFields {
  readonly #documents: JobDocuments
  #added: Promise<void> | undefined

  constructor(documents: JobDocuments) {
    this.#documents = documents
  }

  async prepare(): Promise<void> {
    this.#added ??= this.#documents.addKeptFields?.().catch((error) => {
      this.#added = undefined
      throw error
    })
    await this.#added
  }
}
