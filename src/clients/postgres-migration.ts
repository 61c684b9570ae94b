import { LeaseError } from '../base/errors.ts'
import type { PostgresDatabase } from './postgres.ts'
import { INSUFFICIENT_PRIVILEGE, READ_ONLY_ADVICE } from './postgres-errors.ts'
import { identifier, literal } from './sql-text.ts'
import { codeOf } from './store-error.ts'

export interface PostgresMigration {
  /** Nodes that migrate the same thing take turns. */
  readonly lock: string
  /** The body of a `do` statement. It must look again: another node may have done it meanwhile. */
  readonly body: string
  /** What is wrong, for the error of a role that may not change it. */
  readonly problem: string
  /** The function that migrates with another role. */
  readonly migrate: string
}

/** Runs a migration in one transaction. Several nodes may do this at once. */
export async function runMigration(
  database: PostgresDatabase,
  { lock, body, problem, migrate }: PostgresMigration,
): Promise<void> {
  try {
    await database.run(`${inTurn(lock)} do ${literal(body)}`)
  } catch (error) {
    if (codeOf(error) !== INSUFFICIENT_PRIVILEGE) throw error
    throw new LeaseError(
      'store-failed',
      `Postgres: ${problem}, and this role may not create or change it: grant it CREATE on the schema, or call ` +
        `${migrate} or run holdfast migrate with the role that owns the tables`,
      { cause: error },
    )
  }
}

/**
 * Takes a lock that ends with the transaction. The read of a catalog after it makes the session notice what others
 * created while it waited: `to_regclass` and `to_regnamespace` answer from a cache.
 */
function inTurn(lock: string): string {
  return `set transaction isolation level read committed;
select pg_advisory_xact_lock(hashtext(${literal(lock)}), hashtext('holdfast'));
select from pg_namespace limit 0;`
}

/** What a node does with each table. */
const RIGHTS = ['select', 'insert', 'update', 'delete'] as const

/**
 * Rejects if this role may not read and write the tables, may only read on this connection, or if the statements of
 * the trial, in one transaction, fail.
 */
export async function checkAccess(
  database: PostgresDatabase,
  tables: readonly string[],
  trial: readonly string[],
): Promise<void> {
  const [row] = await database.query(
    `select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as read_only, (
      select string_agg(missing || ' on ' || name, ', ')
      from json_array_elements_text($1::text::json) name, json_array_elements_text($2::text::json) missing
      where not has_table_privilege(name, missing)) as missing`,
    [JSON.stringify(tables), JSON.stringify(RIGHTS)],
  )
  const { standby, read_only, missing } = Object(row) as Readonly<Record<string, unknown>>
  if (typeof missing === 'string')
    throw new LeaseError(
      'store-failed',
      `Postgres: this role lacks ${missing}: grant it, or run holdfast migrate with --grant`,
    )
  if (standby === true || read_only === true) {
    const what = standby ? 'this server is a standby' : 'default_transaction_read_only is on'
    throw new LeaseError('store-unavailable', `Postgres: ${what}; ${READ_ONLY_ADVICE}`)
  }
  if (trial.length > 0) await database.run(trial.join(';'))
}

/** What a role gets. */
export interface PostgresAccess {
  readonly schema: string
  /** Quoted. */
  readonly tables: readonly string[]
  /** The table of the leases, after which its functions are named. */
  readonly leases: string
}

/** Gives a role what a node needs, and nothing more. */
export async function grantAccess(
  database: PostgresDatabase,
  { schema, tables, leases }: PostgresAccess,
  role: string,
): Promise<void> {
  const [namespace, grantee] = [identifier(schema), identifier(role)]
  // Everybody may call a function by default, but many databases revoke that.
  const functions = `
declare
  fn regprocedure;
begin
  for fn in select oid from pg_proc
    where pronamespace = ${literal(namespace)}::regnamespace and starts_with(proname, ${literal(`${leases}_`)})
  loop
    execute format('grant execute on function %s to %I', fn, ${literal(role)});
  end loop;
end`
  // Postgres refuses two grants on one table at the same moment.
  await database.run(`${inTurn(schema)} grant usage on schema ${namespace} to ${grantee};
grant ${RIGHTS.join(', ')} on ${tables.join(', ')} to ${grantee};
do ${literal(functions)}`)
}
