/** The options of `mysqlStore`, their defaults, limits and checks, and the numbers that the store is tuned with. */
import { expectBoolean, expectOptions } from '../../base/arguments.ts'
import { type Duration, expectDuration } from '../../base/duration.ts'
import { DEFAULT_TABLE } from '../options.ts'
import { expectName, type Names, namesOf } from './names.ts'

export interface MysqlTable {
  /** Default: the database of the connection. */
  readonly database?: string | undefined
  /** Default `holdfast_leases`. */
  readonly table?: string | undefined
}

export interface MysqlStoreOptions extends MysqlTable {
  /** Creates the tables and procedures on the first call. Default true. */
  readonly migrate?: boolean | undefined
  /** How often the store looks for its turn at least, while somebody waits or watches. Default 25 ms. */
  readonly poll?: Duration | undefined
  /**
   * How many acquire requests may be in flight. The others wait in this process, in order. Default: the connections
   * of the client.
   */
  readonly maxInFlight?: number | undefined
}

const DEFAULTS = { migrate: true, poll: 25 }

export interface CheckedOptions {
  readonly names: Names
  readonly migrate: boolean
  readonly pollMs: number
  readonly maxInFlight: number
}

/** `connections`: those of the client. */
export function checkOptions(options: MysqlStoreOptions, connections: number): CheckedOptions {
  expectOptions(options, { database: 1, table: 1, migrate: 1, poll: 1, maxInFlight: 1 })
  const { migrate = DEFAULTS.migrate, poll = DEFAULTS.poll, maxInFlight = connections } = options
  expectBoolean('migrate', migrate)
  return { names: namesFor(options), migrate, pollMs: expectDuration('poll', poll, 1), maxInFlight }
}

export function checkTable(table: MysqlTable): Names {
  expectOptions(table, { database: 1, table: 1 })
  return namesFor(table)
}

function namesFor({ database, table = DEFAULT_TABLE }: MysqlTable): Names {
  expectName('table', table)
  if (database !== undefined) expectName('database', database)
  return namesOf(database, table)
}

/** A process that has not been heard of for this long has lost its places in all queues. */
export const ALIVE_FOR_MS = 3000
/**
 * For how long changes are announced to a process that watches, from when it was last heard of. It says so after a third
 * of this time, so a process that stands still for a minute misses nothing.
 */
export const WATCH_FOR_MS = 90_000
/** Messages that nobody has fetched for this long are deleted. */
export const KEEP_MESSAGES_MS = 120_000
/** How often a process that acquires deletes rows that nobody needs. */
export const PRUNE_EVERY_MS = 600_000
/** Right after a request or a message, the next message may be near. Later, it looks less and less often. */
export const SOONEST_POLL_MS = 5
/** It looks for messages after this part of the time that has passed since then. */
export const POLL_PART = 0.1
/** A holder learns of a loss by its heartbeat at the latest. */
export const HOLDER_POLL_MS = 500
/** How many messages are read at once. */
export const FETCH_AT_ONCE = 500
/** Not 0, which would mean that it is its turn. */
export const ASK_AGAIN_IN_MS = 1
/** So that no statement takes long. The next sweep goes on. */
export const PRUNE_AT_ONCE = 1000
/** The server rolls one of two transactions back that wait for each other. The next attempt usually succeeds. */
export const DEADLOCK_TRIES = 5
/** The size of the column. */
export const MAX_ID_BYTES = 512
/** How many resources are remembered that were released: most programs use the same names again and again. */
export const MAX_RELEASED = 1000
/** While somebody watches, plain statements change nothing. This is how often the store tries one. */
export const PLAIN_AGAIN_MS = 1000
