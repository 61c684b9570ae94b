/**
 * The four tables of a store:
 *
 *     <table>          one row for each resource: the last token, the lease if there is one, whether anybody waits
 *     <table>_waiters  one row for each waiter: the queues of all resources
 *     <table>_meta     one row: version of the schema, floor of the tokens, until when somebody watches
 *     <table>_changes  the changes while somebody watched; its last row is never deleted, so numbers only rise
 *
 * The first table has no index beside its key. A second page to write with every grant would halve the speed, and a scan for
 * expired leases takes 1 ms for 10 000 rows.
 */
import type { DatabaseSync } from 'node:sqlite'
import { LeaseError } from '../../base/errors.ts'
import { inTransaction, prepareSqlite } from '../../clients/sqlite.ts'
import { type Tables, tableNames } from './names.ts'

/** Append only: a file may be at any of these versions. */
const MIGRATIONS: readonly ((tables: Tables) => string)[] = [
  ({ leases, meta, changes }) => `
    CREATE TABLE ${leases} (
      resource TEXT PRIMARY KEY,
      token INTEGER NOT NULL,
      id TEXT,
      owner TEXT,
      metadata TEXT,
      acquired_at REAL,
      expires_at REAL,
      span REAL,
      ended_at REAL NOT NULL,
      line TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE ${meta} (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      version INTEGER NOT NULL,
      floor INTEGER NOT NULL,
      watch_until REAL NOT NULL
    ) STRICT;
    INSERT INTO ${meta} VALUES (1, 0, 0, 0);
    CREATE TABLE ${changes} (seq INTEGER PRIMARY KEY, lease TEXT NOT NULL) STRICT;`,
  ({ leases }) => `ALTER TABLE ${leases} ADD COLUMN process TEXT;`,
  // Until then the column `line` contained the whole queue, so that each change of a long queue was slow.
  ({ leases, waiters }) => `
    CREATE TABLE ${waiters} (
      resource TEXT NOT NULL,
      place INTEGER NOT NULL,
      id TEXT NOT NULL,
      channel TEXT NOT NULL,
      owner TEXT NOT NULL,
      PRIMARY KEY (resource, place),
      UNIQUE (resource, id)
    ) STRICT, WITHOUT ROWID;
    INSERT OR IGNORE INTO ${waiters}
      SELECT resource, w.key, w.value ->> 'id', w.value ->> 'channel', '' FROM ${leases}, json_each(line, '$.line') w
      WHERE json_valid(line) AND typeof(w.value ->> 'id') = 'text' AND typeof(w.value ->> 'channel') = 'text';
    UPDATE ${leases} SET line = json_remove(line, '$.line') WHERE json_valid(line);`,
  // Several leases of a resource, and several reservations.
  ({ leases, waiters }) => `
    ALTER TABLE ${leases} ADD COLUMN leases TEXT;
    ALTER TABLE ${waiters} ADD COLUMN share INTEGER;
    UPDATE ${leases} SET line = CASE WHEN json_type(line, '$.reserved') = 'object'
      THEN json_set(line, '$.reserved', json_array(json(line -> '$.reserved')))
      ELSE json_set(line, '$.reserved', json_array()) END
    WHERE json_valid(line);`,
]

export const VERSION = MIGRATIONS.length

/** Brings the tables to this version. Several processes may do so at once. */
export function migrate(db: DatabaseSync, table: string): void {
  if (versionOf(db, table) === VERSION) return
  const tables = tableNames(table)
  inTransaction(db, () => {
    for (const migration of MIGRATIONS.slice(versionOf(db, table))) db.exec(migration(tables))
    db.exec(`UPDATE ${tables.meta} SET version = ${VERSION}`)
  })
}

/** Throws if the tables have a newer version than this code. */
export function checkVersion(version: number | undefined): number {
  if (version !== undefined && version <= VERSION) return version
  throw new LeaseError(
    'store-failed',
    version === undefined
      ? 'the meta table has lost its row: restore the file'
      : `the tables have version ${version}, and this Holdfast knows versions up to ${VERSION}: update it`,
  )
}

/**
 * The version is kept with the tables and not in `user_version`, because a file may contain several stores, and the
 * data of an application that uses `user_version` itself.
 */
function versionOf(db: DatabaseSync, table: string): number {
  const exists = prepareSqlite(db, `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`)
  if (!exists.get(`${table}_meta`)) return 0
  const meta = prepareSqlite(db, `SELECT version FROM ${tableNames(table).meta}`).get()
  return checkVersion((meta as { version: number } | undefined)?.version)
}
