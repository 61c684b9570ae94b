/** How a job is stored in the fields of a document, for every backend of documents. */
import type { JsonValue } from '../base/records.ts'
import type { Job, Outcome } from './job-store.ts'
import type { JobFields, Statuses } from './naming.ts'
import type { Change, Decision, LockedJob } from './rules.ts'
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

export interface DocumentDecision<T> {
  readonly answer: T
  readonly fields?: DocumentFields
}

export class DocumentFormat {
  readonly #names: JobFields
  readonly #statuses: Statuses

  constructor(names: JobFields, statuses: Statuses) {
    this.#names = names
    this.#statuses = statuses
  }

  newJob(fingerprint?: string): DocumentFields {
    const names = this.#names
    return {
      [names.status]: this.#statuses.pending,
      [names.attempts]: 0,
      ...(fingerprint !== undefined && { [names.fingerprint]: fingerprint }),
    }
  }

  inFields<T>({ answer, change }: Decision<T>): DocumentDecision<T> {
    return { answer, ...(change && { fields: this.fieldsOf(change) }) }
  }

  lockOf(document: JobDocument): LockedJob {
    const names = this.#names
    const owner = document.get(names.lockOwner)
    const keptUntil = parseTime(document.get(names.keptUntil))
    return {
      finished: this.#isFinal(document.get(names.status)),
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

  fieldsOf(change: Change): DocumentFields {
    const names = this.#names
    const { owner, expiresAt, heartbeatAt, token, attempts, outcome, fingerprint, keptUntil } = change
    return {
      ...(owner !== undefined && { [names.lockOwner]: owner }),
      ...(expiresAt !== undefined && { [names.lockExpiresAt]: formatTime(expiresAt) }),
      ...(heartbeatAt !== undefined && { [names.lockHeartbeatAt]: formatTime(heartbeatAt) }),
      ...(token !== undefined && { [names.lockToken]: token }),
      ...(attempts !== undefined && { [names.attempts]: attempts }),
      ...(outcome !== undefined && this.#outcomeFields(outcome)),
      ...(fingerprint !== undefined && { [names.fingerprint]: fingerprint }),
      ...(keptUntil !== undefined && { [names.keptUntil]: formatTime(keptUntil) }),
    }
  }

  #outcomeFields(outcome: Outcome | null): DocumentFields {
    const { status, result, error } = this.#names
    const { pending, ready, failed } = this.#statuses
    if (!outcome) return { [status]: pending, [result]: null, [error]: null }
    return 'error' in outcome
      ? { [status]: failed, [result]: null, [error]: outcome.error }
      : { [status]: ready, [result]: outcome.result, [error]: null }
  }

  jobOf(id: string, document: JobDocument): Job {
    const names = this.#names
    const status = document.get(names.status)
    return {
      id,
      status: textOrNull(status),
      finished: this.#isFinal(status),
      result: (document.get(names.result) ?? null) as JsonValue,
      error: textOrNull(document.get(names.error)),
      attempts: countOf(document.get(names.attempts)),
    }
  }

  #isFinal(status: unknown): boolean {
    return this.#statuses.final.includes(status as string)
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
