/**
 * The numbers of the methods that a page loads on demand. They are not in `options.ts`: a bundler would take the core
 * apart for what both parts import.
 */

/** How many leases `list` returns, unless `limit` says otherwise. */
export const LIST_LIMIT = 100
/** A store answers with pages of at most this number of leases. */
export const LIST_AT_ONCE = 1000
/** How many waiters of a resource are read. */
export const MOST_WAITERS = 1000

/** A store need not announce an expiry that nobody has asked it about, so leases that are overdue are read again. */
export const CHECK_WATCHED_EVERY_MS = 1000
/** After this many checks all leases are listed, in case a push was lost. */
export const CHECKS_PER_LIST = 60
export const READ_WATCHED_AT_ONCE = 200
/** This many ends are remembered, so that a late message or answer does not report them again. */
export const ENDS_REMEMBERED = 10_000
