/**
 * The tables and procedures of a store. Each statement creates one of them if it is missing, so several nodes may run
 * them at once, and again. MySQL commits each by itself: a node that stops half-way leaves the rest to the next one.
 *
 * Names, owners and metadata are bytes of UTF-8, so that no collation and no character set decides what is equal.
 */
import { LeaseError } from '../../base/errors.ts'
import type { MysqlDatabase } from '../../clients/mysql.ts'
import { isAccessDenied, isMissing } from '../../clients/mysql-errors.ts'
import { isNewer } from '../../clients/schema-version.ts'
import { codeOf } from '../../clients/store-error.ts'
import type { Names } from './names.ts'
import { transitions } from './transitions.ts'
import { upkeep } from './upkeep.ts'

/** Raise it with every change of a table. */
const SCHEMA_VERSION = 1
/** Nodes of this version and newer ones may use the tables. */
const OLDEST_VERSION = 1

/** Another node has created the procedure first. */
const ALREADY_EXISTS = 'ER_SP_ALREADY_EXISTS'

/**
 * Checks that the tables are there and of a version that this code may use. If not, creates them or fails. `missing`:
 * what a call has found to be missing, in words.
 */
export async function install(
  database: MysqlDatabase,
  names: Names,
  migrate: boolean,
  missing?: string,
): Promise<void> {
  const problem = (await problemOf(database, names)) ?? missing ?? null
  if (problem === null) return
  if (!migrate)
    throw new LeaseError(
      'store-failed',
      `MySQL: ${problem}, and the option migrate is false: call migrateMysql first`,
    )
  try {
    for (const statement of tables(names)) await database.query(statement)
    for (const [name, text] of Object.entries({ ...upkeep(names), ...transitions(names) }))
      await create(database, `create procedure ${names.procedure(name)}${text}`)
  } catch (error) {
    if (!isAccessDenied(error)) throw error
    throw new LeaseError(
      'store-failed',
      `MySQL: ${problem}, and this user may not create it: grant CREATE and CREATE ROUTINE, or call migrateMysql ` +
        'with a user that has these rights',
      { cause: error },
    )
  }
}

/** What is missing, in words; `null` if everything is there. */
async function problemOf(database: MysqlDatabase, names: Names): Promise<string | null> {
  try {
    const [[row] = []] = await database.query(`select version, oldest from ${names.meta}`)
    if (!row) return `${names.meta} has lost its row`
    const { version, oldest } = row
    const stored = { version: Number(version), oldest: Number(oldest) }
    isNewer(`MySQL: ${names.table}`, stored, SCHEMA_VERSION)
    // It locks nothing, and fails if the procedures are missing.
    await database.query(`call ${names.procedure('now')}(@holdfast)`)
    return null
  } catch (error) {
    if (!isMissing(error)) throw error
    return `${names.table} or what belongs to it does not exist`
  }
}

async function create(database: MysqlDatabase, statement: string): Promise<void> {
  await database.query(statement).catch((error: unknown) => {
    if (codeOf(error) !== ALREADY_EXISTS) throw error
  })
}

/** `span`: the expiry less the clock when it was written. `share`: null if exclusive. */
function tables({ table, holders, waiters, channels, messages, meta }: Names): string[] {
  const name = 'varbinary(512) not null'
  const channel = 'varbinary(64) not null'
  const time = 'bigint not null'
  return [
    `create table if not exists ${table} (
      resource ${name} primary key, token ${time}, ended_at ${time}, last_place ${time}, key (ended_at)
    ) engine = InnoDB`,
    `create table if not exists ${holders} (
      resource ${name}, token ${time}, id ${name}, owner mediumblob not null, metadata mediumblob, share bigint,
      acquired_at ${time}, expires_at ${time}, span ${time}, at_least ${time}, lock_delay ${time}, kept_until bigint,
      channel ${channel}, primary key (resource, token), key (resource, id), key (expires_at)
    ) engine = InnoDB`,
    `create table if not exists ${waiters} (
      resource ${name}, place ${time}, id ${name}, owner mediumblob not null, channel ${channel}, share bigint,
      reserved_until bigint, primary key (resource, place), unique key (resource, id),
      key (resource, reserved_until), key (resource, channel)
    ) engine = InnoDB`,
    `create table if not exists ${channels} (
      channel ${channel} primary key, alive_until ${time}, watch_until ${time}
    ) engine = InnoDB`,
    `create table if not exists ${messages} (
      seq bigint auto_increment primary key, channel ${channel}, sent_at ${time}, kind varbinary(16) not null,
      wake_in bigint, resource ${name}, token bigint, id ${name}, owner mediumblob, metadata mediumblob, share bigint,
      acquired_at bigint, expires_at bigint, span bigint, key (channel, seq), key (sent_at)
    ) engine = InnoDB`,
    `create table if not exists ${meta} (
      one tinyint primary key, version int not null, oldest int not null, floor ${time}, watch_until ${time}
    ) engine = InnoDB`,
    `insert ignore into ${meta} select 1, ${SCHEMA_VERSION}, ${OLDEST_VERSION}, coalesce(max(token), 0), 0
      from ${table}`,
  ]
}
