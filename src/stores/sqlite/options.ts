/** The options of `sqliteStore`, their defaults, limits and checks, and the numbers that the store is tuned with. */
import type { DatabaseSync } from 'node:sqlite'
import { type Complete, expectOneOf, expectOptions, expectText, refuse } from '../../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../../base/clock.ts'
import { expectSqlite } from '../../clients/sqlite.ts'
import { DEFAULT_TABLE } from '../options.ts'

export interface SqliteStoreOptions {
  /** Default `holdfast_leases`. Three more tables have this name with `_waiters`, `_meta` and `_changes` after it. */
  readonly table?: string | undefined
  /**
   * `full` waits for the disk before it grants or renews: for servers whose clients are on other machines. Default
   * `normal`. A connection of yours keeps its own setting.
   */
  readonly synchronous?: 'normal' | 'full' | undefined
  /** The store's own clock. Default: the system's. */
  readonly clock?: Clock | undefined
}

const DEFAULTS = { table: DEFAULT_TABLE, synchronous: 'normal' } as const

export function checkOptions(
  pathOrDatabase: string | DatabaseSync,
  options: SqliteStoreOptions,
): Complete<SqliteStoreOptions> {
  expectOptions(options, { table: 1, synchronous: 1, clock: 1 })
  const { table = DEFAULTS.table, synchronous = DEFAULTS.synchronous, clock = systemClock } = options
  if (typeof pathOrDatabase === 'string') expectText('pathOrDatabase', pathOrDatabase)
  else expectSqlite('pathOrDatabase', pathOrDatabase, 'a path, or a DatabaseSync of node:sqlite')
  if (typeof table !== 'string' || !/^(?!sqlite_)[a-z_]\w{0,99}$/i.test(table))
    refuse('table', 'a name of letters, digits and underscores', table)
  if (options.synchronous !== undefined && typeof pathOrDatabase !== 'string')
    refuse('synchronous', 'nothing with a connection of yours: set the pragma there', synchronous)
  expectOneOf('synchronous', synchronous, ['normal', 'full'])
  expectClock('clock', clock)
  return { table, synchronous, clock }
}

/** How many renewals share a transaction, so that many thousands do not block the event loop. */
export const RENEWALS_AT_ONCE = 500
/** How often the change counter is compared while somebody waits, holds or watches here. */
export const LOOK_EVERY_MS = 10
/** Held leases that are checked at once: checking 10 000 of them would block the event loop. */
export const LEASES_AT_ONCE = 250
/** If more than this many wait here, their places are not read after each change. */
export const FEW_WAITERS = 100
/** How often the places of many waiters are read. */
export const CHECK_PLACES_EVERY_MS = 200
/** How often a store that watches moves `watch_until` ahead. */
export const MOVE_AHEAD_EVERY_MS = 10_000
/** How many changes are read from the log at once. */
export const READ_AT_ONCE = 500
/** The first waiter may leave, and the transition then looks at the next two. */
export const FIRST_WAITERS = 3
/** While there are more rows to delete than one prune deletes. */
export const PRUNE_MORE_AFTER_MS = 1000
/** How many waiting calls run at once when the lock becomes free, so that they do not block the event loop. */
export const RUN_AT_ONCE = 100
/** How far ahead of the clock a store that watches sets `watch_until`. */
export const WATCH_FOR_MS = 30_000
/** The log keeps about this many changes. */
export const KEEP_CHANGES = 10_000
/** After how many changes the log is cut to that length. */
export const TRIM_EVERY = 1000
/** So that no call takes long. The next prune continues. */
export const DELETE_AT_ONCE = 500
