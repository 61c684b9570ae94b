import { onTestFinished } from 'vitest'
import { createServer, openSqlite, sqliteAudit, sqliteDocuments } from '../../src/server/node/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { SECRETS } from './service-bed.ts'

/** A server whose leases, documents and audit trail are in one SQLite file. It ends with the test. */
export async function sqliteServer(path: string) {
  const store = sqliteStore(path)
  const database = openSqlite(path)
  const documents = sqliteDocuments(database)
  const server = await createServer({
    store,
    documents,
    audit: sqliteAudit(database),
    log: () => {},
    settings: { ...SECRETS, port: 0 },
  })
  onTestFinished(async () => {
    await server.close()
    await store.close()
    database.close()
  })
  return { url: server.url, store, documents }
}
