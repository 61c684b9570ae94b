import { LeaseError } from '../../core/index.ts'
import type { Database } from './client.ts'
import { codeOf } from './errors.ts'
import { migration1 } from './migration-1/index.ts'
import { literal, type Names, namesOf } from './names.ts'

/** Append only: what has been released is never changed. */
const MIGRATIONS: readonly ((names: Names) => string)[] = [migration1]

const INSUFFICIENT_PRIVILEGE = '42501'

export interface Place {
  /** Default: the first schema of the connection's search path. */
  readonly schema?: string
  readonly table: string
}

/** Finds the tables, and brings them to this version if `migrate` says so. */
export async function install(database: Database, place: Place, migrate: boolean): Promise<Names> {
  const schema = place.schema ?? (await database.ask('select current_schema()::text as answer', []))
  if (schema === null)
    throw new LeaseError(
      'store-failed',
      'postgres: no schema of the search path exists; name one by the option schema',
    )
  const names = namesOf(schema, place.table)
  if ((await versionOf(database, names)) < MIGRATIONS.length) {
    if (!migrate) throw outdated(names)
    await runMigrations(database, names)
  }
  return names
}

async function versionOf(database: Database, { table, meta }: Names): Promise<number> {
  // Looked up first, since a statement that fails would cost a pool its connection.
  const exists = await database.ask('select to_regclass($1)::text as answer', [meta])
  if (exists === null) return 0
  const version = Number(await database.ask(`select version::text as answer from ${meta}`, []))
  if (version <= MIGRATIONS.length) return version
  throw new LeaseError(
    'store-failed',
    `postgres: ${table} is of version ${version}, and this holdfast knows ${MIGRATIONS.length}: update the package`,
  )
}

/** Several nodes may come here at once: they take turns by a lock that ends with the transaction. */
async function runMigrations(database: Database, names: Names): Promise<void> {
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
      `postgres: this role may not create ${table}: grant it CREATE on the schema, or call migratePostgres with a ` +
        'role that may, and set the option migrate to false',
      { cause: error },
    )
  }
}

function outdated({ table }: Names): LeaseError {
  return new LeaseError(
    'store-failed',
    `postgres: ${table} is not there or of an older version, and the option migrate is false: call migratePostgres first`,
  )
}
