/**
 * The tables and procedures of a store. Each statement creates one of them if it is missing, so several nodes may run
 * them at once, and again. MySQL commits each by itself: a node that stops half-way leaves the rest to the next one.
 *
 * Each procedure is one text in plain SQL: fill in the names, and it can be read, changed and tried in `mysql`. Steps that
 * several procedures have are repeated in them, because a call costs about as much as a statement:
 *
 * - A transaction sets the isolation level first. That fails within a transaction of the application, which
 *   `start transaction` would commit. Its handler ends it after an error, which would otherwise leave it open, with its
 *   locks. Whatever `completion_type` says, no transaction follows, and the connection stays.
 * - The clock is read once, as `_at`. `utc_timestamp` would be frozen at the start of the statement, and `sysdate`
 *   follows the time zone of the session.
 * - The row of the meta table is shared with all others who change leases. A new watcher, and a call that raises the floor,
 *   waits for them.
 *
 * Names, owners and metadata are bytes of UTF-8, so that no collation and no character set decides what is equal.
 */
import { LeaseError } from '../../base/errors.ts'
import { type MysqlDatabase, mysqlText } from '../../clients/mysql.ts'
import { isAccessDenied, isMissing, isSyntaxError } from '../../clients/mysql-errors.ts'
import { isNewer } from '../../clients/schema-version.ts'
import { codeOf } from '../../clients/store-error.ts'
import { fullTransitions } from './full-transitions.ts'
import type { Names } from './names.ts'
import { transitions } from './transitions.ts'
import { upkeep } from './upkeep.ts'

/** Raise it with every change of a table. */
const SCHEMA_VERSION = 2
/** Nodes of this version and newer ones may use the tables. */
const OLDEST_VERSION = 2

/** Another node was first. */
const ALREADY_DONE = ['ER_SP_ALREADY_EXISTS', 'ER_DUP_FIELDNAME', 'ER_CANT_DROP_FIELD_OR_KEY']

/** Version 1 had every lease in the table of the holders, and procedures of these names. */
const PROCEDURES_OF_VERSION_1 = [
  ...['now', 'settle', 'tell', 'end', 'end_expired', 'sweep', 'prune', 'hear'],
  ...['acquire', 'renew', 'release'],
]

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
    await upgrade(database, names)
    for (const text of procedureTexts(names)) await unlessDone(database, text)
  } catch (error) {
    if (isSyntaxError(error)) await refuseOracleMode(database, problem, error)
    if (!isAccessDenied(error)) throw error
    throw new LeaseError(
      'store-failed',
      `MySQL: ${problem}, and this user may not create it: grant CREATE and CREATE ROUTINE, or call migrateMysql ` +
        'with a user that has these rights',
      { cause: error },
    )
  }
}

/** The statements that create the procedures. */
export function procedureTexts(names: Names): string[] {
  const procedures = { ...upkeep(names), ...fullTransitions(names), ...transitions(names), ...lastProcedure }
  return Object.entries(procedures).map(([name, text]) => `create procedure ${names.procedure(name)}${text}`)
}

/** The mode changes the language of procedures. Those that exist work in it. */
async function refuseOracleMode(database: MysqlDatabase, problem: string, cause: unknown): Promise<void> {
  const [[row] = []] = await database.query('select @@sql_mode as mode')
  const { mode } = row ?? {}
  if (!mysqlText(mode).includes('ORACLE')) return
  throw new LeaseError(
    'store-failed',
    `MySQL: ${problem}, and it cannot be created with sql_mode ORACLE: call migrateMysql with a client that has ` +
      'another sql_mode; afterwards this one can be used',
    { cause },
  )
}

/** It is created after all others, so it shows that they were. */
const lastProcedure = { installed: '() sql security invoker begin end' }

/** What is missing, in words; `null` if everything is there. */
async function problemOf(database: MysqlDatabase, names: Names): Promise<string | null> {
  try {
    const [[row] = []] = await database.query(`select version, oldest from ${names.meta}`)
    if (!row) return `${names.meta} has lost its row`
    const { version, oldest } = row
    const stored = { version: Number(version), oldest: Number(oldest) }
    isNewer(`MySQL: ${names.table}`, stored, SCHEMA_VERSION)
    if (stored.version < SCHEMA_VERSION)
      return `${names.table} is of version ${stored.version}, and this holdfast needs ${SCHEMA_VERSION}`
    await database.query(`call ${names.procedure('installed')}()`)
    return null
  } catch (error) {
    if (!isMissing(error)) throw error
    return `${names.table} or what belongs to it does not exist`
  }
}

/**
 * From version 1. Its nodes cannot see the leases of this version: from the first statement on they cannot be started,
 * and from the moment their procedures are dropped those that run fail and say so. The columns come last, so a process that
 * finds them knows that the rest was done.
 */
async function upgrade(database: MysqlDatabase, { table, meta, procedure }: Names): Promise<void> {
  const lacksColumn = await database.query(`select has_rows from ${table} limit 0`).then(
    () => false,
    (error: unknown) => {
      if (codeOf(error) !== 'ER_BAD_FIELD_ERROR') throw error
      return true
    },
  )
  if (!lacksColumn) return
  await database.query(
    `update ${meta} set version = ${SCHEMA_VERSION}, oldest = ${OLDEST_VERSION}
      where one = 1 and version < ${SCHEMA_VERSION}`,
  )
  for (const name of PROCEDURES_OF_VERSION_1)
    await database.query(`drop procedure if exists ${procedure(name, 1)}`)
  const added = LEASE_IN_ROW.map((column) => `add ${column}`).join(', ')
  await unlessDone(database, `alter table ${table} ${added}, drop key ended_at`)
}

async function unlessDone(database: MysqlDatabase, statement: string): Promise<void> {
  await database.query(statement).catch((error: unknown) => {
    if (!ALREADY_DONE.includes(codeOf(error))) throw error
  })
}

const name = 'varbinary(512) not null'
const channel = 'varbinary(64) not null'
const time = 'bigint not null'

/**
 * What version 2 added to the table of the resources. `has_rows`: its leases are in the table of the holders. `due_at`:
 * when to look for an expired lease, or whether the row can be deleted.
 */
const LEASE_IN_ROW = [
  'has_rows boolean not null default true',
  'due_at bigint not null default 0',
  'id varbinary(512)',
  'owner mediumblob',
  'metadata mediumblob',
  'acquired_at bigint',
  'expires_at bigint',
  'span bigint',
  'channel varbinary(64)',
  'key due_at (due_at)',
]

/** `span`: the expiry less the clock when it was written. `share`: null if exclusive. */
function tables({ table, holders, waiters, channels, messages, meta }: Names): string[] {
  return [
    `create table if not exists ${table} (
      resource ${name} primary key, token ${time}, ended_at ${time}, last_place ${time}, ${LEASE_IN_ROW.join(', ')}
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
