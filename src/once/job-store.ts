import type { LeaseError } from '../base/errors.ts'
import type { JsonValue } from '../base/records.ts'

/**
 * The port under `once`: jobs, each with its lock in its own record. A store judges time by its own clock, makes
 * each call atomic, and rejects with a `LeaseError`: `not-found` if the job does not exist, `store-unavailable`
 * (retryable) if the backend did not answer, `store-failed` if a retry cannot help, `invalid-argument` with the id
 * as its `resource` if this store cannot have a job with that id.
 */
export interface JobStore {
  /** A short name for messages, such as `memory` or `firestore`. */
  readonly kind: string

  /** Adds a job that is to be run. An existing job stays as it is. */
  add(id: string): Promise<void>

  /**
   * Locks the job for `owner`, or says why it cannot.
   *
   * - Of any number of owners at most one is granted, and no other lock of the job is live then.
   * - A repeated request of the owner of the live lock is granted again: same token, same attempt, expiry extended.
   * - The token of a grant is higher than every earlier token of the job.
   * - With `maxAttempts`, a job that was granted that often and is not finished is now finished as failed.
   * - With `create`, a missing job is added first. One whose result is no longer kept begins anew, with a higher token.
   */
  acquire(id: string, owner: string, ttlMs: number, options?: AcquireOptions): Promise<JobAnswer>

  /** Extends the live lock of `owner`; `null` if it has none. Never revives an expired lock. */
  refresh(id: string, owner: string, ttlMs: number): Promise<LockTime | null>

  /**
   * Writes the outcome and ends the lock in one step, but only for the live holder with this token. Resolves with
   * whether the outcome is written, also if an earlier call wrote it and its answer was lost.
   */
  finish(id: string, holder: JobHolder, outcome: Outcome): Promise<boolean>

  /**
   * As `finish`, but in the caller's own transaction `tx`: the outcome is stored when that is committed. It is written
   * only for the live holder with this token, and only if the job is not finished. Says whether it is written, at once
   * if the transactions of the backend are synchronous. Throws `invalid-argument` if `tx` has no open transaction.
   * Errors of its client are passed on unchanged. Absent: this backend cannot do it.
   */
  complete?(tx: object, id: string, holder: JobHolder, outcome: Outcome): boolean | Promise<boolean>

  /** Whether an outcome that this holder wrote is stored and committed. Absent if `complete` is. */
  completed?(id: string, holder: JobHolder): Promise<boolean>

  /** Ends the lock of `owner`, so that others can run the job. Resolves with whether there was such a lock. */
  release(id: string, owner: string): Promise<boolean>

  read(id: string): Promise<Job | null>

  /**
   * Deletes jobs whose results are no longer kept, at most `limit`. Resolves with their number. Absent: the backend
   * deletes them by itself.
   */
  sweep?(limit: number): Promise<number>

  /**
   * Calls `on` when the job may have changed. A hint: it may come without a change, late or not at all. Returns a
   * function that stops it.
   */
  watch?(id: string, on: () => void): () => void

  /** Callers wait this long for an answer, in milliseconds, so the store must not give up earlier by itself. */
  allow?(callTimeout: number): void

  /** Adds to an error why the backend may be silent, as in `LeaseStore`. */
  explain?(error: LeaseError): LeaseError
}

/** The methods without which an object is not a `JobStore`. */
export const JOB_STORE_METHODS = ['add', 'acquire', 'refresh', 'finish', 'release', 'read'] as const

export interface AcquireOptions {
  readonly maxAttempts?: number | undefined
  readonly create?: KeptResult | undefined
}

/** How the result of a job is kept for later callers. */
export interface KeptResult {
  /** Of what the caller asks for; empty if it gave no payload. A job with another fingerprint is refused. */
  readonly fingerprint: string
  /** How long the job is kept after its end, in milliseconds; `Infinity`: it is never deleted. */
  readonly keepMs: number
}

/** Milliseconds: when the lock ends by the store's clock, and how much was left when the store answered. */
export interface LockTime {
  readonly expiresAt: number
  readonly remaining: number
}

export interface JobGrant extends LockTime {
  readonly granted: true
  /** Rises with every grant of the job. */
  readonly token: number
  /** The number of this grant of the job, counted from 1. */
  readonly attempt: number
}

export type SkipReason =
  /** The job has its final status. */
  | 'already_finished'
  /** Another worker runs it. */
  | 'locked'
  /** It was started `maxAttempts` times and never finished. It is finished as failed now. */
  | 'too_many_attempts'

export interface JobRefusal {
  readonly granted: false
  /** `payload_mismatch`: only with `create`. */
  readonly reason: SkipReason | 'payload_mismatch'
  /** Milliseconds until the other worker's lock ends. */
  readonly remaining?: number | undefined
  /** The finished job, with its result or error. */
  readonly job?: Job | undefined
}

export type JobAnswer = JobGrant | JobRefusal

export interface JobHolder {
  readonly owner: string
  readonly token: number
}

export type Outcome = ({ readonly result: JsonValue } | { readonly error: string }) & {
  /** As in `KeptResult`. */
  readonly keepMs?: number | undefined
}

export interface Job {
  readonly id: string
  /** As it is stored, such as `READY`. */
  readonly status: string | null
  /** Whether the status is final. */
  readonly finished: boolean
  readonly result: JsonValue | null
  readonly error: string | null
  readonly attempts: number
}
