/** Token checks at the resource itself, so that a holder that was paused cannot overwrite its successor. */
import type { PgQueryClient, PostgresJsQueryClient } from '../clients/postgres.ts'
import type { IoRedisScriptClient, NodeRedisScriptClient } from '../clients/redis.ts'
import type { SqliteDatabase } from '../clients/sqlite.ts'

export type { Duration } from '../base/duration.ts'
export type { EtcdClient } from '../clients/etcd.ts'
export type { PostgresQueryClient } from '../clients/postgres.ts'
export type { RedisScriptClient } from '../clients/redis.ts'
export type { SqliteDatabase } from '../clients/sqlite.ts'
export { type EtcdGuard, etcdGuard } from './etcd.ts'
export type { Fence } from './fence.ts'
export { type MemoryGuard, memoryGuard } from './memory.ts'
export { type PostgresGuard, postgresGuard } from './postgres.ts'
export { REDIS_FENCE, type RedisGuard, redisGuard } from './redis.ts'
export { expectWritten, fenceAllows, type GuardTableOptions, guardTable } from './sql.ts'
export { type SqliteGuard, sqliteGuard } from './sqlite.ts'

/** @deprecated Use `PostgresQueryClient`. */
export type PgGuardClient = PgQueryClient
/** @deprecated Use `PostgresQueryClient`. */
export type PostgresGuardClient = PostgresJsQueryClient
/** @deprecated Use `RedisScriptClient`. */
export type IoredisGuardClient = IoRedisScriptClient
/** @deprecated Use `RedisScriptClient`. */
export type NodeRedisGuardClient = NodeRedisScriptClient
/** @deprecated Use `SqliteDatabase`. */
export type SqliteGuardDatabase = SqliteDatabase
