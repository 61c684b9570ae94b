import { expectFunction, expectText, expectWhole } from '../base/arguments.ts'
import type { JsonValue } from '../base/records.ts'
import {
  expectFinish,
  expectHolder,
  expectId,
  expectRefresh,
  expectRequest,
  notFound,
} from './job-arguments.ts'
import type { Job, JobAnswer, JobHolder, JobStore, Outcome } from './job-store.ts'
import type { JobFields, Statuses } from './naming.ts'
import {
  type Change,
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
import { formatTime, parseTime } from './stored-values.ts'

export type DocumentFields = Record<string, JsonValue>

/** One record, as it was read. */
export interface JobDocument {
  get(field: string): unknown
  /** When it was read: milliseconds of the backend's clock, with their fraction. */
  readonly now: number
  /** When it was last changed; `null`: the backend cannot tell. */
  readonly updatedAt: number | null
}

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

/** How often a job is created that is deleted before it is locked. */
const MAX_CREATIONS = 5

export interface DocumentDecision<T> {
  readonly answer: T
  readonly fields?: DocumentFields
}

/** Jobs on any backend of documents, by the rules. */
export function documentJobs(documents: JobDocuments, names: JobFields, statuses: Statuses): JobStore {
  const { kind, watch, sweep, complete } = documents
  const newJob = { [names.status]: statuses.pending, [names.attempts]: 0 }
  let keptFields: Promise<void> | undefined
  return {
    kind,
    explain: (error) => documents.explain?.(error) ?? error,
    async add(id) {
      expectId(id)
      await documents.create(id, newJob)
    },
    async acquire(id, owner, ttlMs, options) {
      const request = expectRequest(id, owner, ttlMs, options)
      const { create } = request
      if (create) await prepareKept()
      for (let creations = 1; ; creations++) {
        const answer = await attempt(id, request)
        if (answer) return answer
        if (!create || creations > MAX_CREATIONS) throw notFound(id)
        await documents.create(id, { ...newJob, [names.fingerprint]: create.fingerprint })
      }
    },
    async refresh(id, owner, ttlMs) {
      expectRefresh(id, owner, ttlMs)
      return decided(id, (job, now) => decideRefresh(job, owner, ttlMs, now))
    },
    async finish(id, holder, outcome, keepMs) {
      expectFinish(id, holder, outcome, keepMs)
      if (keepMs !== undefined) await prepareKept()
      return decided(id, (job, now) => decideFinish(job, holder, outcome, now, keepMs))
    },
    ...(complete && {
      complete(tx: object, id: string, holder: JobHolder, outcome: Outcome, keepMs?: number) {
        expectFinish(id, holder, outcome, keepMs)
        return complete(tx, id, (document) => {
          if (!document) return { answer: false }
          return inFields(decideComplete(lockOf(document), holder, outcome, document.now, keepMs))
        })
      },
      async completed(id: string, holder: JobHolder) {
        expectHolder(id, holder)
        // Not a plain read, which could be part of an open transaction of the application.
        return documents.transact(id, (document) => ({
          answer: document !== null && isFinishedBy(lockOf(document), holder),
        }))
      },
    }),
    async release(id, owner) {
      expectId(id)
      expectText('owner', owner)
      return decided(id, (job) => decideRelease(job, owner))
    },
    async read(id) {
      expectId(id)
      const document = await documents.read(id)
      return document && jobOf(id, document)
    },
    ...(sweep && {
      async sweep(limit: number) {
        expectWhole('limit', limit, 1)
        await prepareKept()
        return sweep(limit)
      },
    }),
    ...(watch && {
      watch(id: string, on: () => void) {
        expectId(id)
        expectFunction('on', on)
        return watch(id, on)
      },
    }),
  }

  async function prepareKept(): Promise<void> {
    keptFields ??= documents.addKeptFields?.().catch((error) => {
      keptFields = undefined
      throw error
    })
    await keptFields
  }

  /** `null`: the job does not exist. */
  function attempt(id: string, request: LockRequest): Promise<JobAnswer | null> {
    return documents.transact<JobAnswer | null>(id, (document) => {
      if (!document) return { answer: null }
      const { answer, change } = decideAcquire(lockOf(document), request, document.now)
      const isFinished = !answer.granted && answer.reason === 'already_finished'
      return {
        answer: isFinished ? { ...answer, job: jobOf(id, document) } : answer,
        ...(change && { fields: fieldsOf(change) }),
      }
    })
  }

  function decided<T>(id: string, decide: (job: LockedJob, now: number) => Decision<T>): Promise<T> {
    return documents.transact(id, (document) => {
      if (!document) throw notFound(id)
      return inFields(decide(lockOf(document), document.now))
    })
  }

  function inFields<T>({ answer, change }: Decision<T>): DocumentDecision<T> {
    return { answer, ...(change && { fields: fieldsOf(change) }) }
  }

  function lockOf(document: JobDocument): LockedJob {
    const owner = document.get(names.lockOwner)
    const keptUntil = parseTime(document.get(names.keptUntil))
    return {
      finished: isFinal(document.get(names.status)),
      owner: typeof owner === 'string' && owner !== '' ? owner : null,
      expiresAt: parseTime(document.get(names.lockExpiresAt)),
      updatedAt: document.updatedAt,
      token: countOf(document.get(names.lockToken)),
      attempts: countOf(document.get(names.attempts)),
      fingerprint: textOrNull(document.get(names.fingerprint)),
      // A job is never deleted because of a value that is not a time.
      keptUntil: Number.isNaN(keptUntil) ? null : keptUntil,
    }
  }

  function fieldsOf(change: Change): DocumentFields {
    const { owner, expiresAt, heartbeatAt, token, attempts, outcome, fingerprint, keptUntil } = change
    return {
      ...(owner !== undefined && { [names.lockOwner]: owner }),
      ...(expiresAt !== undefined && { [names.lockExpiresAt]: formatTime(expiresAt) }),
      ...(heartbeatAt !== undefined && { [names.lockHeartbeatAt]: formatTime(heartbeatAt) }),
      ...(token !== undefined && { [names.lockToken]: token }),
      ...(attempts !== undefined && { [names.attempts]: attempts }),
      ...(outcome !== undefined && outcomeFields(outcome)),
      ...(fingerprint !== undefined && { [names.fingerprint]: fingerprint }),
      ...(keptUntil !== undefined && { [names.keptUntil]: formatTime(keptUntil) }),
    }
  }

  function outcomeFields(outcome: Outcome | null): DocumentFields {
    if (!outcome) return { [names.status]: statuses.pending, [names.result]: null, [names.error]: null }
    return 'error' in outcome
      ? { [names.status]: statuses.failed, [names.result]: null, [names.error]: outcome.error }
      : { [names.status]: statuses.ready, [names.result]: outcome.result, [names.error]: null }
  }

  function jobOf(id: string, document: JobDocument): Job {
    const status = document.get(names.status)
    return {
      id,
      status: textOrNull(status),
      finished: isFinal(status),
      result: (document.get(names.result) ?? null) as JsonValue,
      error: textOrNull(document.get(names.error)),
      attempts: countOf(document.get(names.attempts)),
    }
  }

  function isFinal(status: unknown): boolean {
    return statuses.final.includes(status as string)
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** 0 for a value that is not a whole number. Firestore with `useBigInt` returns every integer as a `bigint`. */
function countOf(value: unknown): number {
  const number = typeof value === 'bigint' ? Number(value) : value
  return Number.isSafeInteger(number) ? (number as number) : 0
}
