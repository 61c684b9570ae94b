/**
 * When a job may be locked, and what the holder of a lock may do. Every store decides by these rules: memory, SQLite,
 * MySQL, etcd and Firestore call these functions, Postgres has the same rules in SQL and Redis in Lua, which saves one
 * of two round trips: see `index.ts`. Random requests are compared between them and the memory store.
 *
 *     waiting → locked → finished
 *        ↑________|  released, or expired
 *
 * A job with a final status is never locked again, unless its result was to be kept for a time that is over. A lock is
 * live while the store's clock is before its expiry. Only a live lock can be extended, and only its holder, with the
 * token of the grant, can finish the job.
 */
import type { JobAnswer, JobHolder, KeptResult, LockTime, Outcome } from './job-store.ts'

export interface LockedJob {
  readonly finished: boolean
  /** `null`: nobody. */
  readonly owner: string | null
  /** `null`: not stored. `NaN`: a value is stored, but it is not a time. */
  readonly expiresAt: number | null
  /** When the record was last changed; `null`: unknown. */
  readonly updatedAt: number | null
  /** The token of the latest grant; 0 before the first. */
  readonly token: number
  readonly attempts: number
  /** `null`: the job was not made to keep its result. */
  readonly fingerprint: string | null
  /** When the job may be deleted; `null`: never. */
  readonly keptUntil: number | null
}

/** What is to be written. Missing fields stay as they are. */
export interface Change {
  readonly owner?: string | null
  readonly expiresAt?: number | null
  readonly heartbeatAt?: number | null
  readonly token?: number
  readonly attempts?: number
  /** `null`: the job begins anew, without an outcome. */
  readonly outcome?: Outcome | null
  readonly fingerprint?: string
  readonly keptUntil?: number | null
}

export interface Decision<T> {
  readonly answer: T
  readonly change?: Change
}

const UNLOCKED = { owner: null, expiresAt: null, heartbeatAt: null }

export interface LockRequest {
  readonly owner: string
  readonly ttlMs: number
  readonly maxAttempts?: number | undefined
  readonly create?: KeptResult | undefined
}

/** `now`: milliseconds of the store's clock, with their fraction. */
export function decideAcquire(job: LockedJob, request: LockRequest, now: number): Decision<JobAnswer> {
  const { create } = request
  if (!create) return decideLock(job, request, now)
  const isOver = job.keptUntil !== null && job.keptUntil <= now && remainingOf(job, request.ttlMs, now) <= 0
  if (!isOver && job.fingerprint !== null && job.fingerprint !== create.fingerprint)
    return { answer: { granted: false, reason: 'payload_mismatch' } }
  const begun = isOver ? { ...job, finished: false, owner: null, attempts: 0 } : job
  const { answer, change } = decideLock(begun, request, now)
  if (!answer.granted) return { answer, ...(change && { change }) }
  const { fingerprint, keepMs } = create
  const keptUntil = keptUntilOf(answer.expiresAt, keepMs)
  return { answer, change: { ...change, fingerprint, keptUntil, ...(isOver && { outcome: null }) } }
}

function decideLock(job: LockedJob, request: LockRequest, now: number): Decision<JobAnswer> {
  const { owner, ttlMs, maxAttempts = Infinity } = request
  if (job.finished) return { answer: { granted: false, reason: 'already_finished' } }
  const remaining = remainingOf(job, ttlMs, now)
  if (remaining > 0 && job.owner !== owner)
    return {
      answer: { granted: false, reason: 'locked', remaining },
      // The first request that sees an unreadable expiry records the time, so that the lock can end.
      ...(Number.isNaN(job.expiresAt) && job.updatedAt === null && { change: { heartbeatAt: now } }),
    }
  if (remaining > 0) return grant(job, now + Math.max(remaining, ttlMs), now)
  const token = nextToken(job, now)
  if (job.attempts >= maxAttempts)
    return {
      answer: { granted: false, reason: 'too_many_attempts' },
      // The token rises, so that the last holder does not take this outcome for its own.
      change: { ...UNLOCKED, token, outcome: { error: tooManyAttempts(job.attempts) } },
    }
  const granted = grant({ ...job, token, attempts: job.attempts + 1 }, now + ttlMs, now)
  return { ...granted, change: { ...granted.change, owner } }
}

function grant({ token, attempts }: LockedJob, expiresAt: number, now: number): Decision<JobAnswer> {
  return {
    answer: { granted: true, token, attempt: attempts, expiresAt, remaining: expiresAt - now },
    change: { expiresAt, heartbeatAt: now, token, attempts },
  }
}

export function decideRefresh(
  job: LockedJob,
  owner: string,
  ttlMs: number,
  now: number,
): Decision<LockTime | null> {
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
  if (job.finished) return { answer: isFinishedBy(job, holder) }
  const live =
    job.token === holder.token && job.owner === holder.owner && job.expiresAt !== null && job.expiresAt > now
  if (!live) return { answer: false }
  const { keepMs } = outcome
  const kept = keepMs === undefined ? {} : { keptUntil: keptUntilOf(now, keepMs) }
  return { answer: true, change: { ...UNLOCKED, outcome, ...kept } }
}

/** In a transaction, which may be a repetition: its effect must not be committed if the job is finished already. */
export function decideComplete(
  job: LockedJob,
  holder: JobHolder,
  outcome: Outcome,
  now: number,
): Decision<boolean> {
  return job.finished ? { answer: false } : decideFinish(job, holder, outcome, now)
}

/** Whether this holder has finished the job. */
export function isFinishedBy(job: LockedJob, { token }: JobHolder): boolean {
  // Anybody else leaves another token, or leaves the holder's lock in the record.
  return job.finished && job.token === token && job.owner === null
}

export function decideRelease(job: LockedJob, owner: string): Decision<boolean> {
  return job.owner === owner ? { answer: true, change: UNLOCKED } : { answer: false }
}

function keptUntilOf(from: number, keepMs: number): number | null {
  return keepMs === Infinity ? null : from + keepMs
}

/** Postgres and Redis write the same text. */
function tooManyAttempts(attempts: number): string {
  return `gave up after ${attempts} attempts that did not finish`
}

/** Of the lock, no matter who holds it. If its expiry is unreadable, it lives for the requested TTL after the last change. */
function remainingOf({ owner, expiresAt, updatedAt }: LockedJob, ttlMs: number, now: number): number {
  if (owner === null || expiresAt === null) return 0
  return (Number.isNaN(expiresAt) ? (updatedAt ?? now) + ttlMs : expiresAt) - now
}

/** Rises whatever the clock does. */
function nextToken({ token }: LockedJob, now: number): number {
  return Math.max(token + 1, Math.floor(now * 1000))
}
