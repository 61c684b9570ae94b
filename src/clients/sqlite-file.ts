import { LeaseError } from '../base/errors.ts'
import { prepareSqlite, type SqliteDatabase } from './sqlite.ts'

/**
 * Returns a function that throws if the file of an open database was deleted or replaced. SQLite does not notice: it
 * goes on with the old file, which no other process can open any more. Two processes could then hold the same lease.
 */
export function fileCheck(database: SqliteDatabase): () => void {
  const row = prepareSqlite(database, `select file from pragma_database_list where name = 'main'`).get()
  const { file } = Object(row) as { readonly file?: unknown }
  // A database in memory has no file.
  if (typeof file !== 'string' || file === '') return () => {}
  const opened = identityOf(file)
  return () => {
    if (identityOf(file) === opened) return
    throw new LeaseError(
      'store-failed',
      `${file} was deleted or replaced while it was open: put the file back, or restart this process to use the new one`,
    )
  }
}

/** The same for as long as the path names the same file. */
function identityOf(path: string): string | undefined {
  // Not imported: bundles for other platforms contain this file, and have no `node:fs`.
  const found = process.getBuiltinModule('node:fs').statSync(path, { throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}
