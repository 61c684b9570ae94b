import { sqliteStore } from '../../stores/sqlite/index.ts'
import { networkConcerns, placeOf } from './local.ts'
import { type OpenedStore, type Opening, optional } from './opened-store.ts'

export async function openSqlite(address: string, opening: Opening): Promise<OpenedStore> {
  const { path, parameters } = placeOf(address, opening)
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
