/*
 * Leases in Redis. Each operation is one Lua script (`scripts.ts` puts them together from `script-row.ts`,
 * `script-queue.ts` and `transitions.ts`), so it is atomic. The clock is `TIME`. Free rows are deleted soon after
 * their TTL, and a floor for each shard keeps tokens above theirs. Calls of one tick of the event loop are sent
 * together (`batches.ts`).
 */
import type { RedisClient } from '../../clients/redis.ts'
import type { LeaseStore } from '../../core/index.ts'
import { checkOptions, type RedisStoreOptions } from './options.ts'
import { RedisStore } from './store.ts'

export type {
  IoRedis,
  IoRedisCluster,
  NodeRedis,
  NodeRedisCluster,
  RedisClient,
} from '../../clients/redis.ts'
export type { RedisStoreOptions } from './options.ts'

/**
 * Leases in Redis, a single server or a cluster, through your own client of `ioredis` or `redis`.
 *
 * @example
 * const leases = createLeases(redisStore(new Redis()))
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): LeaseStore {
  return new RedisStore(client, checkOptions(options))
}
