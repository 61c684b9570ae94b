import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { createServer, openSqlite, sqliteAudit, sqliteDocuments } from '../../src/server/node/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { temporaryDirectory } from '../cli/holdfast.ts'
import { browserAt } from './node-client.ts'
import { SECRETS } from './service-bed.ts'

async function serve(path: string) {
  const store = sqliteStore(path)
  const database = openSqlite(path)
  const server = await createServer({
    store,
    documents: sqliteDocuments(database),
    audit: sqliteAudit(database),
    log: () => {},
    settings: { ...SECRETS, port: 0 },
  })
  onTestFinished(async () => {
    await server.close()
    await store.close()
    database.close()
  })
  return server
}

it('the backup that docs/operations.md describes contains what was saved before it, and tokens still rise', async () => {
  const directory = temporaryDirectory()
  const path = join(directory, 'holdfast.db')
  const browser = browserAt((await serve(path)).url)
  const { token } = (await browser.call('POST', '/api/documents/draft/lock')).body
  await browser.call('PUT', '/api/documents/draft', { content: 'first', token })

  const page = readFileSync(join(root, 'docs/operations.md'), 'utf8')
  const [, statement = ''] = /sqlite3 holdfast\.db "(.*?)"/.exec(page) ?? []
  const copying = new DatabaseSync(path)
  copying.exec(statement.replace('backup.db', join(directory, 'backup.db')))
  copying.close()
  await browser.call('PUT', '/api/documents/draft', { content: 'second', token })
  await browser.call('DELETE', '/api/documents/draft/lock')

  const restored = browserAt((await serve(join(directory, 'backup.db'))).url)
  restored.cookie = browser.cookie
  expect((await restored.call('GET', '/api/documents/draft')).body.content).toBe('first')
  // The lock of the backup lives until its TTL ends, or its holder releases it.
  await restored.call('DELETE', '/api/documents/draft/lock')
  const next = await restored.call('POST', '/api/documents/draft/lock')
  expect(next.body.token).toBeGreaterThan(token)
})
