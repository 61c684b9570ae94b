import assert from 'node:assert/strict'
import { Firestore } from '@google-cloud/firestore'
import { firestoreStore } from 'holdfast/firestore'
import { type AnalysisRepo, analysisJobs, createAnalysisRepo, firestoreJobs } from 'holdfast/once'
import { type Backend, unique } from '../backend.ts'
import { leasesCase } from '../leases.ts'
import { locksCase } from '../locks.ts'
import { FIELDS, onceCase, STATUSES } from '../once.ts'
import { storeCase } from '../store.ts'

/** The client finds the emulator by `FIRESTORE_EMULATOR_HOST`. */
export async function open(): Promise<Backend> {
  const client = new Firestore({ projectId: 'holdfast-surface' })
  return {
    cases: {
      leases: () => leasesCase(() => firestoreStore(client)),
      locks: () => locksCase(() => firestoreStore(client)),
      store: () => storeCase(() => firestoreStore(client, { collection: unique, maxInFlight: 10 })),
      async once() {
        const names = { collection: `${unique}-jobs`, fields: FIELDS, statuses: STATUSES }
        await onceCase(firestoreJobs(client), firestoreJobs(client, names), (work) =>
          client.runTransaction(work),
        )
        await firestoreJobs(client, analysisJobs.firestore).add(`${unique}-repo`)
        await firestoreJobs(client, names).add(`${unique}-repo`)
        await locksAnalysis(createAnalysisRepo(client))
        await locksAnalysis(createAnalysisRepo(client, { ...names, onWarning: () => {} }))
      },
    },
    async [Symbol.asyncDispose]() {
      await client.terminate()
    },
  }
}

async function locksAnalysis(repo: AnalysisRepo): Promise<void> {
  const id = `${unique}-repo`
  assert((await repo.acquireAnalysisLock(id, 'run-1')).acquired)
  await repo.refreshAnalysisLock(id, 'run-1')
  await repo.refreshAnalysisLock(id, 'run-1', 300)
  await repo.releaseAnalysisLock(id, 'run-1')
  assert((await repo.acquireAnalysisLock(id, 'run-2', 300)).acquired)
  await repo.releaseAnalysisLock(id, 'run-2')
}
