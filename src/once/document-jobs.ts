import type { JsonValue } from '../core/index.ts'
import { expectAttempts, expectId, expectName, expectTtl, notFound } from './checks.ts'
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
import { formatTime, parseTime } from './time.ts'

export type Fields = Record<string, JsonValue>

/** One read of one record. */
export interface JobDocument {
  get(field: string): unknown
  /** When it was read: milliseconds of the backend's clock, with their fraction. */
  readonly now: number
  /** When it was last changed, where the backend knows. */
  readonly updatedAt: number | null
}

/** A backend that reads and changes one record in a transaction. */
export interface Documents {
  readonly kind: string
  /** Leaves a record that is there as it is. */
  create(id: string, fields: Fields): Promise<void>
  read(id: string): Promise<JobDocument | null>
  /** Writes what `decide` says. A transaction may run again, so `decide` has no effects of its own. */
  transact<T>(id: string, decide: (document: JobDocument | null) => Verdict<T>): Promise<T>
  watch?(id: string, on: () => void): () => void
}

export interface Verdict<T> {
  readonly answer: T
  readonly fields?: Fields
}

/** Jobs on any backend of documents, by the rules. */
export function documentJobs(documents: Documents, names: JobFields, statuses: Statuses): JobStore {
  const { kind, watch } = documents
  return {
    kind,
    async add(id) {
      expectId(id)
      await documents.create(id, { [names.status]: statuses.pending, [names.attempts]: 0 })
    },
    async acquire(id, owner, ttlMs, { maxAttempts } = {}) {
      expectName('owner', owner)
      expectTtl(ttlMs)
      expectAttempts(maxAttempts)
      return decided(id, (job, now) => decideAcquire(job, { owner, ttlMs, maxAttempts }, now))
    },
    async refresh(id, owner, ttlMs) {
      expectTtl(ttlMs)
      return decided(id, (job, now) => decideRefresh(job, owner, ttlMs, now))
    },
    finish: (id, holder, outcome) => decided(id, (job, now) => decideFinish(job, holder, outcome, now)),
    release: (id, owner) => decided(id, (job) => decideRelease(job, owner)),
    async read(id) {
      expectId(id)
      const document = await documents.read(id)
      return document && jobOf(id, document)
    },
    ...(watch && { watch: watch.bind(documents) }),
  }

  async function decided<T>(id: string, decide: (job: LockedJob, now: number) => Decision<T>): Promise<T> {
    expectId(id)
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

  function fieldsOf({ owner, expiresAt, heartbeatAt, token, attempts, outcome }: Change): Fields {
    return {
      ...(owner !== undefined && { [names.lockOwner]: owner }),
      ...(expiresAt !== undefined && { [names.lockExpiresAt]: formatTime(expiresAt) }),
      ...(heartbeatAt !== undefined && { [names.lockHeartbeatAt]: formatTime(heartbeatAt) }),
      ...(token !== undefined && { [names.lockToken]: token }),
      ...(attempts !== undefined && { [names.attempts]: attempts }),
      ...(outcome && outcomeFields(outcome)),
    }
  }

  function outcomeFields(outcome: Outcome): Fields {
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

function countOf(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : 0
}
