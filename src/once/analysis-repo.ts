import { LeaseError } from '../core/index.ts'
import { expectCallback, refuse } from './checks.ts'
import type { FirestoreClient } from './firestore-client.ts'
import { type FirestoreJobsOptions, firestoreJobs } from './firestore-jobs.ts'
import { type OnWarning, releaseOrWarn } from './telling.ts'

export interface AnalysisRepoOptions extends FirestoreJobsOptions {
  /** Hears of releases that failed. Default: `console.warn`. */
  readonly onWarning?: OnWarning
}

export interface AnalysisRepo {
  /**
   * Locks the analysis for `lockOwner`, which is unique to one run. Not getting it is no error: `reason` is
   * `already_finished` or `locked`. Asking again with the owner of the live lock is granted again and extends it,
   * so that a run whose answer was lost may ask again. Rejects with `not-found` when there is no such document.
   */
  acquireAnalysisLock(
    analysisId: string,
    lockOwner: string,
    ttlSec?: number,
  ): Promise<{ acquired: boolean; reason?: string }>
  /** Ends the lock if it is `lockOwner`'s. A failure is a warning, never an error. */
  releaseAnalysisLock(analysisId: string, lockOwner: string): Promise<void>
  /** Extends the lock; rejects with `lease-lost` when `lockOwner` holds it no more. */
  refreshAnalysisLock(analysisId: string, lockOwner: string, ttlSec?: number): Promise<void>
}

const TTL_SEC = 300

/**
 * The lock on `analyses/{analysisId}` by itself, for code that runs its work and writes its status on its own.
 *
 * @example
 * const { acquired, reason } = await createAnalysisRepo(firestore).acquireAnalysisLock('42', crypto.randomUUID())
 */
export function createAnalysisRepo(
  firestore: FirestoreClient,
  { onWarning, ...options }: AnalysisRepoOptions = {},
): AnalysisRepo {
  const jobs = firestoreJobs(firestore, options)
  expectCallback('onWarning', onWarning)
  return {
    async acquireAnalysisLock(analysisId, lockOwner, ttlSec = TTL_SEC) {
      const answer = await jobs.acquire(analysisId, lockOwner, millis(ttlSec))
      return answer.acquired ? { acquired: true } : { acquired: false, reason: answer.reason }
    },
    async releaseAnalysisLock(analysisId, lockOwner) {
      const release = () => jobs.release(analysisId, lockOwner)
      await releaseOrWarn(release, `analysis ${analysisId}`, onWarning)
    },
    async refreshAnalysisLock(analysisId, lockOwner, ttlSec = TTL_SEC) {
      if (await jobs.refresh(analysisId, lockOwner, millis(ttlSec))) return
      throw new LeaseError('lease-lost', `${lockOwner} does not hold the lock of analysis ${analysisId}`, {
        resource: analysisId,
      })
    },
  }
}

function millis(ttlSec: number): number {
  if (!(ttlSec > 0)) refuse('ttlSec', 'seconds above 0', ttlSec)
  return ttlSec * 1000
}
