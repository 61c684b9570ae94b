export type { Duration } from '../base/duration.ts'
export type { EtcdClient } from '../clients/etcd.ts'
export type { FirestoreClient } from '../clients/firestore.ts'
export type { MysqlClient } from '../clients/mysql.ts'
export type { PostgresClient } from '../clients/postgres.ts'
export type { RedisClient } from '../clients/redis.ts'
export type { SqliteDatabase } from '../clients/sqlite.ts'
export { analysisJobs } from './analysis-jobs.ts'
export { type AnalysisRepo, type AnalysisRepoOptions, createAnalysisRepo } from './analysis-repo.ts'
export { type EtcdJobsOptions, etcdJobs } from './etcd-jobs.ts'
export { type IdOptions, idOf } from './fingerprint.ts'
export { type FirestoreJobsOptions, firestoreJobs } from './firestore-jobs.ts'
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
export { type MemoryJobs, type MemoryJobsOptions, type MemoryTransaction, memoryJobs } from './memory-jobs.ts'
export { type MysqlJobsOptions, mysqlJobs } from './mysql-jobs.ts'
export type { JobFieldNames, JobFields, JobStatuses } from './naming.ts'
export { type OidcClaims, type OidcOptions, oidcAuthorize } from './oidc.ts'
export { createOnce, type Once } from './once.ts'
export type {
  Delivery,
  OnceOptions,
  OnWarning,
  ResultOptions,
  RunOptions,
  TaskHandlerOptions,
  WaitOptions,
} from './options.ts'
export { type PostgresJobsOptions, postgresJobs } from './postgres-jobs.ts'
export { type RedisJobsOptions, redisJobs } from './redis-jobs.ts'
export type { StoredResult } from './result.ts'
export type { JobWork, RunningJob, RunResult } from './run.ts'
export { type SqliteJobsOptions, sqliteJobs } from './sqlite-jobs.ts'
export { createTaskHandler, type TaskHandler } from './task-handler.ts'
