/*
 * Runs a job once. The lock of a job is in the job's own record, so job stores have their own port, `JobStore`.
 * Heartbeat, deadline and loss come from the core: a run wraps its job as a store of one resource, and takes it
 * through `createLeases`.
 *
 * The rules are one pure module, `rules.ts`. Postgres states them in SQL and Redis in Lua, over `request-jobs.ts`.
 * The others decide in JavaScript (`document-jobs.ts`). On MySQL, Firestore and etcd a job is read, and then changed
 * by a write that requires it to be unchanged (`optimistic.ts`). A final status is written only by the live holder
 * with its token, in the same step that ends the lock. Postgres and Redis on `document-jobs.ts` would save 300 lines
 * and cost one more round trip per operation: 0.68 × of today's rate of Postgres and 0.59 × of Redis with a round
 * trip of 2 ms. So their rules stay in SQL and Lua, and `test/once/describe-job-store.ts` compares every store with
 * the memory store.
 *
 * **Completion** (`complete(tx, result)`). The store writes the outcome with the transaction of the application,
 * under the lock of the row, so nobody can take the job before that transaction ends. Nobody tells `once` about the
 * COMMIT. When the work has ended, `run.ts` asks the store whether the outcome is stored. If not, it releases the
 * lock, which waits for a transaction that is still open, and asks again. A transaction that completes a finished
 * job is refused, also to its own holder: it may repeat a transaction whose COMMIT had no answer. In Postgres a
 * refusal is an error within the transaction, which cannot be committed then.
 */

export type { Duration } from '../base/duration.ts'
export type { EtcdClient } from '../clients/etcd.ts'
export type { FirestoreClient } from '../clients/firestore.ts'
export type { MysqlClient } from '../clients/mysql.ts'
export type { PostgresClient } from '../clients/postgres.ts'
export type { RedisClient } from '../clients/redis.ts'
export type { SqliteDatabase } from '../clients/sqlite.ts'
export { analysisJobs } from './analysis-jobs.ts'
export { type AnalysisRepo, createAnalysisRepo } from './analysis-repo.ts'
export { etcdJobs } from './etcd-jobs.ts'
export { idOf } from './fingerprint.ts'
export { firestoreJobs } from './firestore-jobs.ts'
export type {
  AcquireOptions,
  Job,
  JobAnswer,
  JobGrant,
  JobHolder,
  JobRefusal,
  JobStore,
  KeptResult,
  LockTime,
  Outcome,
  SkipReason,
} from './job-store.ts'
export { type MemoryJobs, type MemoryTransaction, memoryJobs } from './memory-jobs.ts'
export { mysqlJobs } from './mysql-jobs.ts'
export type { JobFieldNames, JobFields, JobStatuses } from './naming.ts'
export { type OidcClaims, oidcAuthorize } from './oidc.ts'
export { createOnce, type Once } from './once.ts'
export type {
  AnalysisRepoOptions,
  Delivery,
  EtcdJobsOptions,
  FirestoreJobsOptions,
  IdOptions,
  MemoryJobsOptions,
  MysqlJobsOptions,
  OidcOptions,
  OnceOptions,
  OnWarning,
  PostgresJobsOptions,
  RedisJobsOptions,
  ResultOptions,
  RunOptions,
  SqliteJobsOptions,
  TaskHandlerOptions,
  WaitOptions,
} from './options.ts'
export { postgresJobs } from './postgres-jobs.ts'
export { redisJobs } from './redis-jobs.ts'
export type { StoredResult } from './result.ts'
export type { JobWork, RunningJob, RunResult } from './run.ts'
export { sqliteJobs } from './sqlite-jobs.ts'
export { createTaskHandler, type TaskHandler } from './task-handler.ts'
