import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { sqliteStore } from '../../stores/sqlite/index.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { networkConcerns, placeOf } from './local.ts'
import { type OpenedStore, type Opening, optional } from './opened-store.ts'

export async function openSqlite(address: string, opening: Opening): Promise<OpenedStore> {
  const { path, parameters } = placeOf(address, opening)
  // Told now: SQLite itself would be asked at the first call, and not say what is wrong.
  if (!existsSync(dirname(path)))
    throw new Failure(
      EXIT.unavailable,
      `there is no directory ${dirname(path)}; make it, or name another place by --store`,
    )
  const store = sqliteStore(path, {
    ...optional('table', parameters.get('table')),
    ...(opening.isServed && { synchronous: 'full' }),
  })
  const { sqlite, node } = process.versions
  return {
    store,
    examine: async () => ({
      version: `SQLite ${sqlite} of Node ${node}`,
      concerns: networkConcerns(path),
    }),
    async serverParts() {
      const { openSqlite: open, sqliteAudit, sqliteDocuments } = await import('../../server/node/index.ts')
      const database = open(path)
      const secretsFile = `${path}.secrets`
      return { documents: sqliteDocuments(database), audit: sqliteAudit(database), secretsFile }
    },
    close: () => store.close(),
  }
}
