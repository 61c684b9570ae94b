import { LeaseError } from '../../base/errors.ts'
import type { PostgresDatabase } from '../../clients/postgres.ts'
import { INSUFFICIENT_PRIVILEGE } from '../../clients/postgres-errors.ts'
import { literal } from '../../clients/sql-text.ts'
import { codeOf } from '../../clients/store-error.ts'
import { migration1 } from './migration-1.ts'
import { type Names, namesOf } from './names.ts'
import { answerOf } from './queries.ts'

/** Append only: a released migration is never changed. */
const MIGRATIONS: readonly ((names: Names) => string)[] = [migration1]

export interface TablePlace {
  /** Default: the first schema of the connection's search path. */
  readonly schema?: string | undefined
  readonly table: string
}

/** Finds the tables. If they are missing or of an older version, it creates or upgrades them, or fails. */
export async function install(
  database: PostgresDatabase,
  place: TablePlace,
  migrate: boolean,
): Promise<Names> {
  const schema = place.schema ?? (await answerOf(database, 'select current_schema()::text as answer'))
  if (schema === null)
    throw new LeaseError(
      'store-failed',
      'Postgres: no schema of the search path exists: name one with the option schema',
    )
  const names = namesOf(schema, place.table)
  if ((await versionOf(database, names)) < MIGRATIONS.length) {
    if (!migrate)
      throw new LeaseError(
        'store-failed',
        `Postgres: ${names.table} does not exist or is of an older version, and the option migrate is false: ` +
          'call migratePostgres first',
      )
    await runMigrations(database, names)
  }
  return names
}

async function versionOf(database: PostgresDatabase, { table, meta }: Names): Promise<number> {
  // Looked up first, because a statement that fails would cost a pool its connection.
  const exists = await answerOf(database, 'select to_regclass($1)::text as answer', [meta])
  if (exists === null) return 0
  const version = Number(await answerOf(database, `select version::text as answer from ${meta}`))
  if (version <= MIGRATIONS.length) return version
  throw new LeaseError(
    'store-failed',
    `Postgres: ${table} is of version ${version}, and this holdfast knows ${MIGRATIONS.length}: update the package`,
  )
}

/** Several nodes may do this at once. They take turns by a lock that ends with the transaction. */
async function runMigrations(database: PostgresDatabase, names: Names): Promise<void> {
  const { schema, table, meta } = names
  const steps = MIGRATIONS.map(
    (migration, index) => `
  if version < ${index + 1} then
    execute ${literal(migration(names))};
    execute ${literal(`update ${meta} set version = ${index + 1}`)};
  end if;`,
  )
  const script = `
declare
  version integer := 0;
begin
  if to_regnamespace(${literal(schema)}) is null then
    execute ${literal(`create schema ${schema}`)};
  end if;
  if to_regclass(${literal(meta)}) is not null then
    execute ${literal(`select version from ${meta}`)} into version;
  end if;${steps.join('')}
end`
  try {
    await database.run(`set transaction isolation level read committed;
select pg_advisory_xact_lock(hashtext(${literal(table)}), hashtext('holdfast'));
do ${literal(script)}`)
  } catch (error) {
    if (codeOf(error) !== INSUFFICIENT_PRIVILEGE) throw error
    throw new LeaseError(
      'store-failed',
      `Postgres: this role may not create ${table}: grant it CREATE on the schema, or call migratePostgres with a ` +
        'role that may, and set the option migrate to false',
      { cause: error },
    )
  }
}
