import { LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import type {
  Answer,
  Ask,
  HoldingStore,
  Lease,
  LeaseRecord,
  ReleaseAsk,
  Released,
  RenewAsk,
  Renewal,
} from '../core/index.ts'
import type {
  AcquireOptions,
  JobGrant,
  JobHolder,
  JobRefusal,
  JobStore,
  LockTime,
  Outcome,
} from './job-store.ts'
import type { OnWarning } from './options.ts'

type LeaseIds = Pick<Lease, 'id' | 'token'>

export interface JobLockOptions extends AcquireOptions {
  readonly worker: string | undefined
}

/** The lock of one job for one run, as a lease store: the core does the heartbeat, the deadline and the loss. */
export class JobLock implements HoldingStore {
  readonly kind: string
  readonly supports = { queue: false, push: false, expiry: true, list: false, share: false }
  grant: JobGrant | undefined
  refusal: JobRefusal | undefined
  readonly #jobs: JobStore
  readonly #jobId: string
  readonly #options: JobLockOptions
  #isFinishing = false
  /** The lock is no longer in the record of the job. */
  #hasEnded = false

  constructor(jobs: JobStore, jobId: string, options: JobLockOptions) {
    this.kind = jobs.kind
    this.#jobs = jobs
    this.#jobId = jobId
    this.#options = options
  }

  async acquire({ id, ttl }: Ask): Promise<Answer> {
    const { maxAttempts, create } = this.#options
    const answer = await this.#jobs.acquire(this.#jobId, this.#ownerOf(id), ttl, { maxAttempts, create })
    if (answer.granted) {
      this.grant = answer
      return { granted: true, lease: this.#leaseRecord(id, answer, 'held') }
    }
    this.refusal = answer
    return { granted: false, holders: [], place: null, retryIn: answer.remaining ?? null }
  }

  async renew({ id, ttl }: RenewAsk): Promise<Renewal> {
    const time = await this.#jobs.refresh(this.#jobId, this.#ownerOf(id), ttl)
    if (time) return { ok: true, lease: this.#leaseRecord(id, time, 'held') }
    // Our own outcome may have ended the lock. The answer to `finish` will tell.
    if (this.#isFinishing) throw new LeaseError('store-unavailable', 'the outcome is being written')
    return { ok: false, holders: [] }
  }

  async release(request: ReleaseAsk): Promise<Released> {
    const id = 'id' in request ? request.id : ''
    const isReleased = this.#hasEnded || (await this.#jobs.release(this.#jobId, this.#ownerOf(id)))
    const ended = isReleased && this.grant ? this.#leaseRecord(id, this.grant, 'released') : null
    return { ended, holders: [] }
  }

  explain(error: LeaseError): LeaseError {
    return this.#jobs.explain?.(error) ?? error
  }

  async close(): Promise<void> {}

  /** Writes the outcome, which also ends the lock. Resolves with whether it is written. */
  async finish(lease: LeaseIds, outcome: Outcome): Promise<boolean> {
    this.#isFinishing = true
    this.#hasEnded = await this.#jobs.finish(this.#jobId, this.#holderOf(lease), this.#kept(outcome))
    return this.#hasEnded
  }

  /** The same in a transaction of the application. Says whether it is written. */
  complete(tx: object, lease: LeaseIds, outcome: Outcome): boolean | Promise<boolean> {
    const jobs = this.#jobs
    if (!jobs.complete)
      throw new LeaseError(
        'invalid-argument',
        `complete: the job store ${jobs.kind} cannot take part in a transaction: return the result instead, or use the job store of the database that has the effect (postgresJobs, mysqlJobs, sqliteJobs, firestoreJobs)`,
        { resource: this.#jobId },
      )
    this.#isFinishing = true
    return jobs.complete(tx, this.#jobId, this.#holderOf(lease), this.#kept(outcome))
  }

  #kept(outcome: Outcome): Outcome {
    const { create } = this.#options
    return create ? { ...outcome, keepMs: create.keepMs } : outcome
  }

  /** Resolves with whether an outcome that `complete` wrote is committed. */
  async completed(lease: LeaseIds): Promise<boolean> {
    this.#hasEnded = (await this.#jobs.completed?.(this.#jobId, this.#holderOf(lease))) ?? false
    return this.#hasEnded
  }

  /** Ends the lock. Resolves with whether it was still in the record of the job. */
  async remove({ id }: LeaseIds): Promise<boolean> {
    const isRemoved = await this.#jobs.release(this.#jobId, this.#ownerOf(id))
    this.#hasEnded ||= isRemoved
    return isRemoved
  }

  #holderOf({ id, token }: LeaseIds): JobHolder {
    return { owner: this.#ownerOf(id), token }
  }

  /** The owner in the record of the job. */
  #ownerOf(leaseId: string): string {
    const { worker } = this.#options
    return worker === undefined ? leaseId : `${worker}/${leaseId}`
  }

  #leaseRecord(id: string, time: LockTime, state: LeaseRecord['state']): LeaseRecord {
    const { expiresAt, remaining } = time
    const granted = this.grant ?? time
    return {
      resource: this.#jobId,
      id,
      owner: this.#ownerOf(id),
      token: this.grant?.token ?? 0,
      metadata: null,
      share: null,
      acquiredAt: granted.expiresAt - granted.remaining,
      expiresAt,
      remaining,
      state,
    }
  }
}

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
