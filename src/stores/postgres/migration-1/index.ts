/**
 * One row a resource: its last lease, the line of waiters, and a reservation. The functions are the transitions
 * of `lease-row.ts`, one for each operation of the store, so that each takes one round trip. Times are
 * microseconds since 1970.
 *
 * Every function locks the row first and reads the clock once, after that: `now()` would be the start of the
 * transaction, before the wait for the lock, and two readings may fall on two sides of an expiry.
 *
 * An address says where a process hears: `channel pid start` of its listening connection, or nothing for one
 * that polls. Once that connection is gone the process counts as dead, and all its waiters are passed over.
 *
 * Grants and renewals must survive a crash of the server. What else a call changes need not wait for the disk:
 * a lost release ends with its TTL, and a lost place in line is asked for again.
 */
import type { Names } from '../names.ts'
import { holding } from './holding.ts'
import { line } from './line.ts'
import { looking } from './looking.ts'
import { tables } from './tables.ts'
import { upkeep } from './upkeep.ts'

export function migration1(names: Names): string {
  return [tables, line, upkeep, holding, looking].map((part) => part(names)).join('\n')
}
