/** The options of `postgresStore`, their defaults, limits and checks, and the numbers that the store is tuned with. */
import { expectBoolean, expectOptions } from '../../base/arguments.ts'
import type { PgConfig, PostgresClient } from '../../clients/postgres.ts'
import { DEFAULT_TABLE } from '../options.ts'
import { expectName } from './names.ts'

export interface PostgresTable {
  /** Default: the first schema of the connection's search path. */
  readonly schema?: string | undefined
  /** Default `holdfast_leases`. */
  readonly table?: string | undefined
}

export interface PostgresStoreOptions extends PostgresTable {
  /**
   * The configuration of the connection for notifications, if `client` connects through a pooler. Default: the
   * configuration of `client`.
   */
  readonly listen?: PostgresClient | PgConfig | undefined
  /** Creates or upgrades the tables on the first call. Default true. */
  readonly migrate?: boolean | undefined
  /**
   * How many acquire requests may be in flight. The others wait in this process, in order. Default: the connections
   * of the client.
   */
  readonly maxInFlight?: number | undefined
}

/** Where the tables are. */
export interface TablePlace {
  /** Default: the first schema of the connection's search path. */
  readonly schema?: string | undefined
  readonly table: string
}

export interface CheckedOptions {
  readonly place: TablePlace
  readonly listen: PostgresClient | PgConfig | undefined
  readonly migrate: boolean
  readonly maxInFlight: number
}

const DEFAULTS = { migrate: true }

/** `connections`: those of the client. */
export function checkOptions(options: PostgresStoreOptions, connections: number): CheckedOptions {
  expectOptions(options, { schema: 1, table: 1, listen: 1, migrate: 1, maxInFlight: 1 })
  const { listen, migrate = DEFAULTS.migrate, maxInFlight = connections } = options
  const place = placeOf(options)
  expectBoolean('migrate', migrate)
  return { place, listen, migrate, maxInFlight }
}

export function checkTable(table: PostgresTable): TablePlace {
  expectOptions(table, { schema: 1, table: 1 })
  return placeOf(table)
}

function placeOf({ schema, table = DEFAULT_TABLE }: PostgresTable): TablePlace {
  expectName('table', table)
  if (schema !== undefined) expectName('schema', schema)
  return { schema, table }
}

/** How long a waiter that cannot be judged by its connection keeps its place after each request. */
export const PLACE_WITHOUT_CONNECTION_MS = 1000
/** A waiter without a connection must repeat its request within a second, or it loses its place. */
export const POLL_MS = 400
/** How long a waiter waits for the connection on which it can be woken, before it polls. */
export const OPEN_LIMIT_MS = 500
/** A lease that is held for less is not worth a connection. */
export const OPEN_AFTER_MS = 200
/** How often the listening connection is probed. */
export const CHECK_CONNECTION_EVERY_MS = 10_000
/**
 * This number of checks is left out while there are only holders, which also have their heartbeats. A check uses the ordinary
 * client: every 10 s it would keep a connection of a pool, and with it the process, alive for as long as a lease is held.
 */
export const CHECKS_LEFT_OUT_FOR_HOLDERS = 2
/** A transaction that takes longer waits for a lock. When it gets the lock, it sees that somebody watches. */
export const WRITERS_LIMIT_MS = 1000
/** How often a new watcher looks whether such a transaction has ended. */
export const WRITERS_EVERY_MS = 10
/** How many waiters behind those that are woken are looked at to find one that can be told to stand by. */
export const STANDBY_WITHIN = 100
/** If a probe takes longer, the connection does not deliver notifications. */
export const DELIVERED_WITHIN_MS = 2000
/** After this time without an answer, the other queries take the ordinary client. */
export const STUCK_AFTER_MS = 500
/** How long they do so after a query without an answer. */
export const AVOIDED_FOR_MS = 10_000
/** How many queries one statement has, so that none takes long. */
export const MAX_BATCH = 100
/** The server refuses a notification of 8000 bytes. */
export const MAX_PAYLOAD_BYTES = 7999
/** How often the functions delete rows that nobody needs, and how many at once. */
export const PRUNE_EVERY_MS = 600_000
export const PRUNE_AT_ONCE = 1000
/** For how long one call of `watch` has changes announced. */
export const WATCH_AHEAD_MS = 30_000
