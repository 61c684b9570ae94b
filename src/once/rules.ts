/**
 * When a job may be locked, and what a lock may do. Every store decides by these rules: memory, SQLite and
 * Firestore call them, Postgres states them in SQL.
 *
 *     waiting → locked → finished
 *        ↑________|  released, or expired and taken by another
 *
 * A job with a final status is never locked again. A lock is live while the store's clock is before its expiry;
 * only a live lock is extended, and only its holder, with the token of the grant, finishes the job.
 */
import type { JobAnswer, JobHolder, Outcome } from './job-store.ts'

export interface LockedJob {
  readonly finished: boolean
  /** `null`: nobody. */
  readonly owner: string | null
  /** `null`: none. `NaN`: there is one, but it cannot be understood. */
  readonly expiresAt: number | null
  /** When the record was last changed; `null` where nobody knows. */
  readonly updatedAt: number | null
  /** Of the latest grant; 0 before the first. */
  readonly token: number
  readonly attempts: number
}

/** What is to be written; fields that are not named stay as they are. */
export interface Change {
  readonly owner?: string | null
  readonly expiresAt?: number | null
  readonly heartbeatAt?: number | null
  readonly token?: number
  readonly attempts?: number
  readonly outcome?: Outcome
}

export interface Decision<T> {
  readonly answer: T
  readonly change?: Change
}

const UNLOCKED = { owner: null, expiresAt: null, heartbeatAt: null }

export interface LockWish {
  readonly owner: string
  readonly ttlMs: number
  readonly maxAttempts?: number | undefined
}

/** `now`: milliseconds of the store's clock, with its fraction. */
export function decideAcquire(job: LockedJob, wish: LockWish, now: number): Decision<JobAnswer> {
  const { owner, ttlMs, maxAttempts = Infinity } = wish
  if (job.finished) return { answer: { acquired: false, reason: 'already_finished' } }
  const remaining = remainingOf(job, ttlMs, now)
  if (remaining > 0 && job.owner !== owner)
    return {
      answer: { acquired: false, reason: 'locked', remaining },
      // From now on it is known since when this lock cannot be understood.
      ...(Number.isNaN(job.expiresAt) && job.updatedAt === null && { change: { heartbeatAt: now } }),
    }
  if (remaining > 0) return grant(job, now + Math.max(remaining, ttlMs), now)
  const token = nextToken(job, now)
  if (job.attempts >= maxAttempts)
    return {
      answer: { acquired: false, reason: 'too_many_attempts' },
      // The token rises, so that the last holder does not take this outcome for its own.
      change: { ...UNLOCKED, token, outcome: { error: tooManyAttempts(job.attempts) } },
    }
  const granted = grant({ ...job, token, attempts: job.attempts + 1 }, now + ttlMs, now)
  return { ...granted, change: { ...granted.change, owner } }
}

function grant({ token, attempts }: LockedJob, expiresAt: number, now: number): Decision<JobAnswer> {
  return {
    answer: { acquired: true, token, attempt: attempts, expiresAt, remaining: expiresAt - now },
    change: { expiresAt, heartbeatAt: now, token, attempts },
  }
}

export function decideRefresh(job: LockedJob, owner: string, ttlMs: number, now: number) {
  const remaining = job.owner === owner && !job.finished ? remainingOf(job, ttlMs, now) : 0
  if (remaining <= 0) return { answer: null }
  const expiresAt = now + Math.max(remaining, ttlMs)
  return { answer: { expiresAt, remaining: expiresAt - now }, change: { expiresAt, heartbeatAt: now } }
}

export function decideFinish(
  job: LockedJob,
  holder: JobHolder,
  outcome: Outcome,
  now: number,
): Decision<boolean> {
  if (job.token !== holder.token) return { answer: false }
  // Our own earlier call: whoever else finishes the job leaves another token, or leaves our lock.
  if (job.finished) return { answer: job.owner === null }
  const live = job.owner === holder.owner && job.expiresAt !== null && job.expiresAt > now
  return live ? { answer: true, change: { ...UNLOCKED, outcome } } : { answer: false }
}

export function decideRelease(job: LockedJob, owner: string): Decision<boolean> {
  return job.owner === owner ? { answer: true, change: UNLOCKED } : { answer: false }
}

function tooManyAttempts(attempts: number): string {
  return `given up after ${attempts} attempts that did not end`
}

/** Of the lock, whoever has it. One that cannot be understood lives for the asker's TTL after the last change. */
function remainingOf({ owner, expiresAt, updatedAt }: LockedJob, ttlMs: number, now: number): number {
  if (owner === null || expiresAt === null) return 0
  return (Number.isNaN(expiresAt) ? (updatedAt ?? now) + ttlMs : expiresAt) - now
}

/** Rises whatever the clock does. */
function nextToken({ token }: LockedJob, now: number): number {
  return Math.max(token + 1, Math.floor(now * 1000))
}
