import type { JsonValue } from '../core/index.ts'

/**
 * The port under `once`: jobs, each with its lock on its own record. A store judges time by its own clock, makes
 * each call atomic, and rejects with a `LeaseError`: `not-found` when there is no such job, `store-unavailable`
 * (retryable) when the backend did not answer, `store-failed` when asking again cannot help, `invalid-argument`
 * with the id as its `resource` when no job of this store can have that id.
 */
export interface JobStore {
  /** Short name for messages, such as `memory` or `firestore`. */
  readonly kind: string

  /** Adds a job that waits to be run. One that is there already stays as it is. */
  add(id: string): Promise<void>

  /**
   * Locks the job for `owner`, or says why not.
   *
   * - Of any number of owners at most one is granted, and no lock of the job is live then.
   * - Asking again with the owner of the live lock is granted again: same token, same attempt, expiry extended.
   * - The token of a grant is higher than every earlier token of the job.
   * - With `maxAttempts`, a job that was granted so often and is still not finished is finished as failed.
   */
  acquire(id: string, owner: string, ttlMs: number, options?: AcquireOptions): Promise<JobAnswer>

  /** Extends the live lock of `owner`; `null` when it has none. Never revives an expired one. */
  refresh(id: string, owner: string, ttlMs: number): Promise<LockTime | null>

  /**
   * Writes the outcome and ends the lock in one step, for the live holder with this token only. Resolves with
   * whether the outcome is written, also when an earlier call did it and its answer was lost.
   */
  finish(id: string, holder: JobHolder, outcome: Outcome): Promise<boolean>

  /** Ends the lock of `owner` and leaves the job for others. Resolves with whether there was one. */
  release(id: string, owner: string): Promise<boolean>

  read(id: string): Promise<Job | null>

  /** Calls when the job may have changed. A hint: it may come in vain, late or not at all. Returns how to stop. */
  watch?(id: string, on: () => void): () => void
}

export interface AcquireOptions {
  readonly maxAttempts?: number | undefined
}

/** Milliseconds: when the lock ends by the store's clock, and how long that was from when the store looked. */
export interface LockTime {
  readonly expiresAt: number
  readonly remaining: number
}

export interface JobGrant extends LockTime {
  readonly acquired: true
  /** Rises with every grant of the job. */
  readonly token: number
  /** Which grant of the job this is, counted from 1. */
  readonly attempt: number
}

export type SkipReason =
  /** The job has its final status. */
  | 'already_finished'
  /** Another runs it. */
  | 'locked'
  /** It was granted `maxAttempts` times without an end. It is finished as failed now. */
  | 'too_many_attempts'

export interface JobRefusal {
  readonly acquired: false
  readonly reason: SkipReason
  /** Of the other's lock, in milliseconds. */
  readonly remaining?: number
}

export type JobAnswer = JobGrant | JobRefusal

export interface JobHolder {
  readonly owner: string
  readonly token: number
}

export type Outcome = { readonly result: JsonValue } | { readonly error: string }

export interface Job {
  readonly id: string
  /** As it is stored, such as `READY`. */
  readonly status: string | null
  /** The status is final. */
  readonly finished: boolean
  readonly result: JsonValue | null
  readonly error: string | null
  readonly attempts: number
}
