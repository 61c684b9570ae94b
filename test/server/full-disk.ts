/** Runs on a small disk of its own, and prints what a server on SQLite answers while the disk is full, and afterwards. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createServer, openSqlite, sqliteAudit, sqliteDocuments } from '../../src/server/node/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'

const [disk = ''] = process.argv.slice(2)
const path = join(disk, 'holdfast.db')
const filler = join(disk, 'filler')
const database = openSqlite(path)
const store = sqliteStore(path, { synchronous: 'full' })
const documents = sqliteDocuments(database)
const audit = sqliteAudit(database)
// Creates the tables.
for (const part of [store, documents, audit]) await part.check?.()
const server = await createServer({
  store,
  documents,
  audit,
  log: () => {},
  settings: { port: 0 },
})
const ask = async (route: string, method = 'GET') => (await fetch(server.url + route, { method })).status
for (const size of [65_536, 4096, 1])
  try {
    for (;;) writeFileSync(filler, Buffer.alloc(size), { flag: 'a' })
  } catch {
    // There is no room for a piece of this size.
  }
const full = [await ask('/readyz'), await ask('/api/documents/draft/lock', 'POST')]
rmSync(filler)
const after = [await ask('/readyz'), await ask('/api/documents/draft/lock', 'POST')]
console.log(JSON.stringify({ full, after }))
process.exit()
