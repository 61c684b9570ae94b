import type { Connection, Pool } from 'mysql2/promise'
import type { Names } from '../../../src/stores/mysql/names.ts'

/** From now on the procedures read the clock of the session, which `set timestamp` stops and moves. */
export async function makeSteppedClock(client: Connection | Pool, { procedure }: Names): Promise<void> {
  await client.query(`drop procedure ${procedure('now')}`)
  await client.query(`create procedure ${procedure('now')}(out _at bigint)
    set _at = timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))`)
}
