import { expectText, expectWhole, show } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import {
  expectFinish,
  expectHolder,
  expectId,
  expectRefresh,
  expectRequest,
  notFound,
} from './job-arguments.ts'
import type {
  JOB_STORE_METHODS,
  Job,
  JobAnswer,
  JobHolder,
  JobStore,
  LockTime,
  Outcome,
} from './job-store.ts'
import { parseJson } from './stored-values.ts'

/** Those with `-kept` are for results that are kept. */
export type Operation =
  | (typeof JOB_STORE_METHODS)[number]
  | 'acquire-kept'
  | 'add-kept'
  | 'finish-kept'
  | 'sweep'
  | TransactionOperation
  | 'completed'

export type TransactionOperation = 'complete' | 'complete-kept'

/** The answer to an operation. Numbers may be texts. */
export interface AnswerRow {
  /** `granted`, or `again` for the live owner; a reason; `done` for a finish or release; `finished` for a read. */
  readonly answer?: unknown
  readonly token?: unknown
  readonly attempts?: unknown
  /** Milliseconds. Missing after a refresh: the owner has no live lock. */
  readonly expires?: unknown
  readonly remaining?: unknown
  readonly status?: unknown
  /** JSON. */
  readonly result?: unknown
  readonly error?: unknown
  /** How many were deleted. */
  readonly swept?: unknown
}

/** A backend that decides by the rules itself, with one request for each operation. */
export interface JobRequests extends Pick<JobStore, 'kind' | 'explain' | 'allow'> {
  /** `null`: the job does not exist. Rejects with a `LeaseError`. */
  ask(operation: Operation, id: string, values: readonly RequestValue[]): Promise<AnswerRow | null>
  /** The same in the caller's own transaction, whose errors are passed on unchanged. Absent: the backend cannot. */
  askIn?(
    tx: object,
    operation: TransactionOperation,
    id: string,
    values: readonly RequestValue[],
  ): Promise<AnswerRow | null>
  /** The backend deletes jobs by itself. */
  readonly sweepsItself?: boolean
}

export type RequestValue = string | number | null

export function requestJobs({ ask, askIn, sweepsItself = false, ...backend }: JobRequests): JobStore {
  const answers = new Answers(backend.kind)
  return {
    ...backend,
    async add(id) {
      expectId(id)
      await ask('add', id, [])
    },
    async acquire(id, owner, ttlMs, options) {
      const { maxAttempts = null, create } = expectRequest(id, owner, ttlMs, options)
      if (!create) return answers.answerOf(id, await existing('acquire', id, [owner, ttlMs, maxAttempts]))
      const { fingerprint, keepMs } = create
      const values = [owner, ttlMs, maxAttempts, fingerprint, keepMs === Infinity ? null : keepMs]
      const row = await ask('acquire-kept', id, values)
      if (row) return answers.answerOf(id, row)
      await ask('add-kept', id, [fingerprint])
      return answers.answerOf(id, await existing('acquire-kept', id, values))
    },
    async refresh(id, owner, ttlMs) {
      expectRefresh(id, owner, ttlMs)
      const row = await existing('refresh', id, [owner, ttlMs])
      return row.expires == null ? null : answers.timeOf(row)
    },
    async finish(id, holder, outcome) {
      expectFinish(id, holder, outcome)
      const values = outcomeValues(holder, outcome)
      const row = await existing(outcome.keepMs === undefined ? 'finish' : 'finish-kept', id, values)
      return row.answer === 'done'
    },
    ...(askIn && {
      async complete(tx: object, id: string, holder: JobHolder, outcome: Outcome) {
        expectFinish(id, holder, outcome)
        const values = outcomeValues(holder, outcome)
        const row = await askIn(tx, outcome.keepMs === undefined ? 'complete' : 'complete-kept', id, values)
        return row?.answer === 'done'
      },
      async completed(id: string, holder: JobHolder) {
        expectHolder(id, holder)
        return (await ask('completed', id, [holder.token]))?.answer === 'done'
      },
    }),
    async release(id, owner) {
      expectId(id)
      expectText('owner', owner)
      return (await existing('release', id, [owner])).answer === 'done'
    },
    async read(id) {
      expectId(id)
      const row = await ask('read', id, [])
      return row && answers.jobOf(id, row, row.answer === 'finished')
    },
    ...(!sweepsItself && {
      async sweep(limit: number) {
        expectWhole('limit', limit, 1)
        return answers.numberIn((await ask('sweep', '', [limit])) ?? {}, 'swept')
      },
    }),
  }

  async function existing(
    operation: Operation,
    id: string,
    values: readonly RequestValue[],
  ): Promise<AnswerRow> {
    const row = await ask(operation, id, values)
    if (!row) throw notFound(id)
    return row
  }
}

/** Turns the answers of one backend into values. */
class Answers {
  readonly #kind: string

  constructor(kind: string) {
    this.#kind = kind
  }

  jobOf(id: string, row: AnswerRow, finished: boolean): Job {
    const { status, result, error } = row
    return {
      id,
      status: typeof status === 'string' ? status : null,
      finished,
      result: parseJson(result),
      error: typeof error === 'string' ? error : null,
      attempts: this.numberIn(row, 'attempts'),
    }
  }

  answerOf(id: string, row: AnswerRow): JobAnswer {
    const { answer } = row
    switch (answer) {
      case 'already_finished':
        return { granted: false, reason: answer, job: this.jobOf(id, row, true) }
      case 'too_many_attempts':
      case 'payload_mismatch':
        return { granted: false, reason: answer }
      case 'locked':
        return { granted: false, reason: answer, remaining: this.numberIn(row, 'remaining') }
      case 'granted':
      case 'again':
        return {
          granted: true,
          token: this.numberIn(row, 'token'),
          attempt: this.numberIn(row, 'attempts'),
          ...this.timeOf(row),
        }
      default:
        throw unexpectedAnswer(this.#kind, row)
    }
  }

  timeOf(row: AnswerRow): LockTime {
    return { expiresAt: this.numberIn(row, 'expires'), remaining: this.numberIn(row, 'remaining') }
  }

  numberIn(row: AnswerRow, field: keyof AnswerRow): number {
    const number = Number(row[field] ?? Number.NaN)
    if (Number.isNaN(number)) throw unexpectedAnswer(this.#kind, row)
    return number
  }
}

function outcomeValues(holder: JobHolder, outcome: Outcome): RequestValue[] {
  const { keepMs } = outcome
  const values =
    'error' in outcome
      ? ['failed', null, outcome.error]
      : ['ready', JSON.stringify(outcome.result ?? null), null]
  const kept = keepMs === undefined ? [] : [keepMs === Infinity ? null : keepMs]
  return [holder.owner, holder.token, ...values, ...kept]
}

export function unexpectedAnswer(kind: string, answer: unknown): LeaseError {
  return new LeaseError('store-failed', `${kind}: expected the answer to a job request, got ${show(answer)}`)
}
