/** Token checks at the resource itself, so that a holder that was paused cannot overwrite its successor. */
export type { Fence } from './fence.ts'
export { type MemoryGuard, memoryGuard } from './memory.ts'
export {
  type PgGuardClient,
  type PostgresGuard,
  type PostgresGuardClient,
  postgresGuard,
} from './postgres.ts'
export {
  type IoredisGuardClient,
  type NodeRedisGuardClient,
  REDIS_FENCE,
  type RedisGuard,
  redisGuard,
} from './redis.ts'
export { expectWritten, fenceAllows, type GuardTableOptions, guardTable } from './sql.ts'
export { type SqliteGuard, type SqliteGuardDatabase, sqliteGuard } from './sqlite.ts'
