import { LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import type { HoldingStore, Lease, LeaseRecord } from '../core/index.ts'
import type { AcquireOptions, JobGrant, JobRefusal, JobStore, LockTime, Outcome } from './job-store.ts'

/** The lock of one job for one run, as a lease store: the core does the heartbeat, the deadline and the loss. */
export interface JobLock {
  readonly store: HoldingStore
  readonly grant: JobGrant | undefined
  readonly refusal: JobRefusal | undefined
  /** Writes the outcome, which also ends the lock. Resolves with whether it is written. */
  finish(lease: LeaseIds, outcome: Outcome): Promise<boolean>
  /** The same in a transaction of the application. Says whether it is written. */
  complete(tx: object, lease: LeaseIds, outcome: Outcome): boolean | Promise<boolean>
  /** Resolves with whether an outcome that `complete` wrote is committed. */
  completed(lease: LeaseIds): Promise<boolean>
  /** Ends the lock. Resolves with whether it was still in the record of the job. */
  release(lease: LeaseIds): Promise<boolean>
}

type LeaseIds = Pick<Lease, 'id' | 'token'>

export interface JobLockOptions extends AcquireOptions {
  readonly worker: string | undefined
}

export function jobLock(
  jobs: JobStore,
  jobId: string,
  { worker, maxAttempts, create }: JobLockOptions,
): JobLock {
  let grant: JobGrant | undefined
  let refusal: JobRefusal | undefined
  let finishing = false
  /** The lock is no longer in the record of the job. */
  let ended = false
  /** The owner in the record of the job. */
  const ownerOf = (leaseId: string) => (worker === undefined ? leaseId : `${worker}/${leaseId}`)

  const store: HoldingStore = {
    kind: jobs.kind,
    supports: { queue: false, push: false, expiry: true, list: false, share: false },
    async acquire({ id, ttl }) {
      const answer = await jobs.acquire(jobId, ownerOf(id), ttl, { maxAttempts, create })
      if (answer.granted) {
        grant = answer
        return { granted: true, lease: record(id, answer, 'held') }
      }
      refusal = answer
      return { granted: false, holders: [], place: null, retryIn: answer.remaining ?? null }
    },
    async renew({ id, ttl }) {
      const time = await jobs.refresh(jobId, ownerOf(id), ttl)
      if (time) return { ok: true, lease: record(id, time, 'held') }
      // Our own outcome may have ended the lock. The answer to `finish` will tell.
      if (finishing) throw new LeaseError('store-unavailable', 'the outcome is being written')
      return { ok: false, holders: [] }
    },
    async release(ask) {
      const id = 'id' in ask ? ask.id : ''
      const released = ended || (await jobs.release(jobId, ownerOf(id)))
      return { ended: released && grant ? record(id, grant, 'released') : null, holders: [] }
    },
    explain: (error) => jobs.explain?.(error) ?? error,
    close: async () => {},
  }
  return {
    store,
    get grant() {
      return grant
    },
    get refusal() {
      return refusal
    },
    async finish({ id, token }, outcome) {
      finishing = true
      ended = await jobs.finish(jobId, { owner: ownerOf(id), token }, outcome, create?.keepMs)
      return ended
    },
    complete(tx, { id, token }, outcome) {
      if (!jobs.complete)
        throw new LeaseError(
          'invalid-argument',
          `complete: the job store ${jobs.kind} cannot take part in a transaction: return the result instead, or use the job store of the database that has the effect (postgresJobs, mysqlJobs, sqliteJobs, firestoreJobs)`,
          { resource: jobId },
        )
      finishing = true
      return jobs.complete(tx, jobId, { owner: ownerOf(id), token }, outcome, create?.keepMs)
    },
    async completed({ id, token }) {
      ended = (await jobs.completed?.(jobId, { owner: ownerOf(id), token })) ?? false
      return ended
    },
    async release({ id }) {
      const released = await jobs.release(jobId, ownerOf(id))
      ended ||= released
      return released
    },
  }

  function record(id: string, time: LockTime, state: LeaseRecord['state']): LeaseRecord {
    const { expiresAt, remaining } = time
    return {
      resource: jobId,
      id,
      owner: ownerOf(id),
      token: grant?.token ?? 0,
      metadata: null,
      share: null,
      acquiredAt: (grant ?? time).expiresAt - (grant ?? time).remaining,
      expiresAt,
      remaining,
      state,
    }
  }
}

/** Called when something went wrong that does not affect the caller. */
export type OnWarning = (message: string, error: unknown) => void

/** Ends a lock. If that fails, the lock ends with its TTL, so a warning is enough. */
export async function releaseOrWarn(
  release: () => Promise<unknown>,
  subject: string,
  onWarning: OnWarning = console.warn,
): Promise<void> {
  try {
    await release()
  } catch (error) {
    notify(onWarning, `the lock of ${subject} could not be released; it ends with its TTL`, error)
  }
}
