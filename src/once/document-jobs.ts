import { expectFunction, expectText } from '../base/arguments.ts'
import type { JsonValue } from '../base/records.ts'
import { expectFinish, expectId, expectRefresh, expectRequest, notFound } from './job-arguments.ts'
import type { Job, JobStore, Outcome } from './job-store.ts'
import type { JobFields, Statuses } from './naming.ts'
import {
  type Change,
  type Decision,
  decideAcquire,
  decideFinish,
  decideRefresh,
  decideRelease,
  type LockedJob,
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
  watch?(id: string, on: () => void): () => void
  explain?: JobStore['explain']
}

export interface DocumentDecision<T> {
  readonly answer: T
  readonly fields?: DocumentFields
}

/** Jobs on any backend of documents, by the rules. */
export function documentJobs(documents: JobDocuments, names: JobFields, statuses: Statuses): JobStore {
  const { kind, watch } = documents
  return {
    kind,
    explain: (error) => documents.explain?.(error) ?? error,
    async add(id) {
      expectId(id)
      await documents.create(id, { [names.status]: statuses.pending, [names.attempts]: 0 })
    },
    async acquire(id, owner, ttlMs, options) {
      const request = expectRequest(id, owner, ttlMs, options)
      return decided(id, (job, now) => decideAcquire(job, request, now))
    },
    async refresh(id, owner, ttlMs) {
      expectRefresh(id, owner, ttlMs)
      return decided(id, (job, now) => decideRefresh(job, owner, ttlMs, now))
    },
    async finish(id, holder, outcome) {
      expectFinish(id, holder, outcome)
      return decided(id, (job, now) => decideFinish(job, holder, outcome, now))
    },
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
    ...(watch && {
      watch(id: string, on: () => void) {
        expectId(id)
        expectFunction('on', on)
        return watch(id, on)
      },
    }),
  }

  function decided<T>(id: string, decide: (job: LockedJob, now: number) => Decision<T>): Promise<T> {
    return documents.transact(id, (document) => {
      if (!document) throw notFound(id)
      const { answer, change } = decide(lockOf(document), document.now)
      return { answer, ...(change && { fields: fieldsOf(change) }) }
    })
  }

  function lockOf(document: JobDocument): LockedJob {
    const owner = document.get(names.lockOwner)
    return {
      finished: isFinal(document.get(names.status)),
      owner: typeof owner === 'string' && owner !== '' ? owner : null,
      expiresAt: parseTime(document.get(names.lockExpiresAt)),
      updatedAt: document.updatedAt,
      token: countOf(document.get(names.lockToken)),
      attempts: countOf(document.get(names.attempts)),
    }
  }

  function fieldsOf({ owner, expiresAt, heartbeatAt, token, attempts, outcome }: Change): DocumentFields {
    return {
      ...(owner !== undefined && { [names.lockOwner]: owner }),
      ...(expiresAt !== undefined && { [names.lockExpiresAt]: formatTime(expiresAt) }),
      ...(heartbeatAt !== undefined && { [names.lockHeartbeatAt]: formatTime(heartbeatAt) }),
      ...(token !== undefined && { [names.lockToken]: token }),
      ...(attempts !== undefined && { [names.attempts]: attempts }),
      ...(outcome && outcomeFields(outcome)),
    }
  }

  function outcomeFields(outcome: Outcome): DocumentFields {
    return 'error' in outcome
      ? { [names.status]: statuses.failed, [names.result]: null, [names.error]: outcome.error }
      : { [names.status]: statuses.ready, [names.result]: outcome.result, [names.error]: null }
  }

  function jobOf(id: string, document: JobDocument): Job {
    const status = document.get(names.status)
    const error = document.get(names.error)
    return {
      id,
      status: typeof status === 'string' ? status : null,
      finished: isFinal(status),
      result: (document.get(names.result) ?? null) as JsonValue,
      error: typeof error === 'string' ? error : null,
      attempts: countOf(document.get(names.attempts)),
    }
  }

  function isFinal(status: unknown): boolean {
    return statuses.final.includes(status as string)
  }
}

/** 0 for a value that is not a whole number. Firestore with `useBigInt` returns every integer as a `bigint`. */
function countOf(value: unknown): number {
  const number = typeof value === 'bigint' ? Number(value) : value
  return Number.isSafeInteger(number) ? (number as number) : 0
}
