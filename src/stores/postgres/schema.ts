import { LeaseError } from '../../base/errors.ts'
import type { PostgresDatabase } from '../../clients/postgres.ts'
import { runMigration } from '../../clients/postgres-migration.ts'
import { isNewer, type SchemaVersion } from '../../clients/schema-version.ts'
import { functionNames, installScript, isInternal, SCHEMA_VERSION } from './install-script.ts'
import { type Names, namesOf } from './names.ts'
import type { TablePlace } from './options.ts'
import { answerOf } from './queries.ts'

/** Finds the tables and functions. If anything is missing or of an older version, it is created, or the call fails. */
export async function install(
  database: PostgresDatabase,
  place: TablePlace,
  migrate: boolean,
): Promise<Names> {
  const names = await findNames(database, place)
  const { problem } = await inspect(database, names)
  if (problem === null) return names
  if (!migrate)
    throw new LeaseError(
      'store-failed',
      `Postgres: ${problem}, and the option migrate is false: call migratePostgres first`,
    )
  await runMigration(database, {
    lock: names.table,
    body: installScript(names),
    problem,
    migrate: 'migratePostgres',
  })
  return names
}

export async function findNames(database: PostgresDatabase, { schema, table }: TablePlace): Promise<Names> {
  const found = schema ?? (await answerOf(database, 'select current_schema()::text as answer'))
  if (found !== null) return namesOf(found, table)
  throw new LeaseError(
    'store-failed',
    'Postgres: no schema of the search path exists: name one with the option schema',
  )
}

/** Whether the tables and functions are there, and of this version. */
export interface InstalledState {
  /** `newer`: a newer package has upgraded them, and this one may still use them. */
  readonly state: 'complete' | 'newer' | 'absent' | 'outdated' | 'damaged'
  /** What is missing or outdated, in words; `null` if everything is there. */
  readonly problem: string | null
}

export async function inspect(database: PostgresDatabase, names: Names): Promise<InstalledState> {
  const { table, meta, tables } = names
  // Looked up first, because a statement that fails would cost a pool its connection.
  const found = await answerOf(
    database,
    `select coalesce(json_agg(name), '[]')::text as answer from (
      select name from json_array_elements_text($1::text::json) name where to_regclass(name) is null
      union all select name from json_array_elements_text($2::text::json) name where not exists (
        select from pg_proc where pronamespace = to_regnamespace($3) and proname = name)) missing`,
    [JSON.stringify(tables), JSON.stringify(functionNames(names)), names.schema],
  )
  const missing: readonly string[] = JSON.parse(found ?? '[]')
  if (!missing.includes(meta)) {
    // Versions 1 and 2 have no column `oldest`.
    const stored = await answerOf(
      database,
      `select (select json_build_object('version', version, 'oldest', to_json(meta) -> 'oldest')::text
        from ${meta} meta order by version desc limit 1) as answer`,
    )
    const { version = 0, oldest = null } = JSON.parse(stored ?? '{}') as Partial<SchemaVersion>
    if (isNewer(`Postgres: ${table}`, { version, oldest }, SCHEMA_VERSION)) {
      const lacking = missing.filter((name) => !isInternal(names, name))
      if (lacking.length === 0) return { state: 'newer', problem: null }
      // A repair by this version would install older functions than the tables have.
      const what = `${lacking.join(', ')} does not exist, and ${table} is of the newer version ${version}`
      throw new LeaseError('store-failed', `Postgres: ${what}: update the package`)
    }
    if (0 < version && version < SCHEMA_VERSION)
      return {
        state: 'outdated',
        problem: `${table} is of version ${version}, and this holdfast needs ${SCHEMA_VERSION}`,
      }
    if (version === 0) return { state: 'damaged', problem: `${meta} has lost its row` }
  }
  if (missing.length === 0) return { state: 'complete', problem: null }
  const isAbsent = tables.every((name) => missing.includes(name))
  return isAbsent
    ? { state: 'absent', problem: `${table} does not exist` }
    : { state: 'damaged', problem: `${missing.join(', ')} does not exist` }
}
