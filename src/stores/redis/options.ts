/** The options of `redisStore`, their defaults, limits and checks, and the numbers that the store is tuned with. */
import { expectOptions } from '../../base/arguments.ts'
import { expectPrefix, type RedisClient } from '../../clients/redis.ts'

export interface RedisStoreOptions {
  /** The beginning of every key and channel, so that several applications can share a server. Default `holdfast`. */
  readonly prefix?: string | undefined
  /** The client whose `duplicate()` becomes the connection that listens. Default `client`. */
  readonly listen?: RedisClient | undefined
  /** How many acquire requests may be in flight. The others wait in this process, in order. Default 1000. */
  readonly maxInFlight?: number | undefined
}

/** Redis pipelines. More requests in flight would delay renewals, which are sent on the same connection. */
const DEFAULTS = { prefix: 'holdfast', maxInFlight: 1000 }

export interface CheckedOptions {
  readonly prefix: string
  readonly listen: RedisClient | undefined
  readonly maxInFlight: number
}

export function checkOptions(options: RedisStoreOptions): CheckedOptions {
  expectOptions(options, { prefix: 1, listen: 1, maxInFlight: 1 })
  const { prefix = DEFAULTS.prefix, listen, maxInFlight = DEFAULTS.maxInFlight } = options
  expectPrefix(prefix)
  return { prefix, listen, maxInFlight }
}

/** After this many new rows, a store tidies the next shard: rows that nobody sweeps must not accumulate. */
export const TIDY_EVERY = 32
/** How many resources have their keys remembered: most programs use the same names again and again. */
export const MAX_KEPT_KEYS = 1000
/** How many waiters of a queue are checked for dead processes: the server does nothing else meanwhile. */
export const CHECKED_WAITERS = 1000
/** How long the script publishes changes after it was told that somebody watches. */
export const WATCHED_MS = 30_000
/**
 * More operations are sent in several script calls. The server then works on one while this process reads the answers
 * to the one before, and no call occupies the server for long.
 */
export const MAX_BATCH = 32
/** How many rows of a shard are looked at when it is tidied. */
export const MAX_TIDIED = 256
/** How long the key lives that shows whether the server accepts writes. */
export const TRIAL_MS = 1000
/** How many waiters behind the reservation are looked at for one of another process, which is told too. */
export const STANDBY_SEARCH = 16
