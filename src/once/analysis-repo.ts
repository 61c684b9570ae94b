import { expectFunction, expectText, refuse, show } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import type { FirestoreClient } from '../clients/firestore.ts'
import { analysisJobs } from './analysis-jobs.ts'
import { firestoreJobs } from './firestore-jobs.ts'
import { releaseOrWarn } from './job-lock.ts'
import { type AnalysisRepoOptions, MAX_TTL_MS, TTL_SEC } from './options.ts'

export interface AnalysisRepo {
  /**
   * Locks the analysis for `lockOwner`, which is unique to one run. A refusal is not an error: `reason` is
   * `already_finished` or `locked`. A repeated request of the owner of the live lock is granted again and extends
   * the lock, so that a run whose answer was lost can repeat its request. Rejects with `not-found` if the document
   * does not exist.
   */
  acquireAnalysisLock(
    analysisId: string,
    lockOwner: string,
    ttlSec?: number,
  ): Promise<{ acquired: boolean; reason?: string }>
  /** Ends the lock of `lockOwner`, if it has one. A failure is a warning, never an error. */
  releaseAnalysisLock(analysisId: string, lockOwner: string): Promise<void>
  /**
   * Extends the lock to `ttlSec` from now. It never shortens the lock: one that ends later stays as it is. Rejects with
   * `lease-lost` if `lockOwner` does not hold it any more.
   */
  refreshAnalysisLock(analysisId: string, lockOwner: string, ttlSec?: number): Promise<void>
}

/**
 * Only the lock on `analyses/{analysisId}`, for code that runs its work and writes its status itself.
 *
 * @example
 * const { acquired, reason } = await createAnalysisRepo(firestore).acquireAnalysisLock('42', crypto.randomUUID())
 */
export function createAnalysisRepo(
  firestore: FirestoreClient,
  options: AnalysisRepoOptions = {},
): AnalysisRepo {
  const { onWarning, collection = analysisJobs.firestore.collection, ...others } = options
  const jobs = firestoreJobs(firestore, { collection, ...others })
  if (onWarning !== undefined) expectFunction('onWarning', onWarning)
  return {
    async acquireAnalysisLock(analysisId, lockOwner, ttlSec = TTL_SEC) {
      expectText('lockOwner', lockOwner)
      const answer = await jobs.acquire(analysisId, lockOwner, millis(ttlSec))
      return answer.granted ? { acquired: true } : { acquired: false, reason: answer.reason }
    },
    async releaseAnalysisLock(analysisId, lockOwner) {
      const name = typeof analysisId === 'string' ? analysisId : show(analysisId)
      await releaseOrWarn(() => jobs.release(analysisId, lockOwner), `analysis ${name}`, onWarning)
    },
    async refreshAnalysisLock(analysisId, lockOwner, ttlSec = TTL_SEC) {
      expectText('lockOwner', lockOwner)
      if (await jobs.refresh(analysisId, lockOwner, millis(ttlSec))) return
      throw new LeaseError('lease-lost', `${lockOwner} does not hold the lock of analysis ${analysisId}`, {
        resource: analysisId,
      })
    },
  }
}

function millis(ttlSec: number): number {
  if (typeof ttlSec !== 'number' || !(ttlSec > 0 && ttlSec * 1000 <= MAX_TTL_MS))
    refuse('ttlSec', 'seconds above 0, up to a year', ttlSec)
  return ttlSec * 1000
}
