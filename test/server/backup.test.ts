import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { temporaryDirectory } from '../cli/holdfast.ts'
import { browserAt } from './node-client.ts'
import { sqliteServer } from './sqlite-server.ts'

it('the backup that docs/operations.md describes contains what was saved before it, and tokens still rise', async () => {
  const directory = temporaryDirectory()
  const path = join(directory, 'holdfast.db')
  const browser = browserAt((await sqliteServer(path)).url)
  const { token } = (await browser.call('POST', '/api/documents/draft/lock')).body
  await browser.call('PUT', '/api/documents/draft', { content: 'first', token })

  const page = readFileSync(join(root, 'docs/operations.md'), 'utf8')
  const [, statement = ''] = /sqlite3 holdfast\.db "(.*?)"/.exec(page) ?? []
  const copying = new DatabaseSync(path)
  copying.exec(statement.replace('backup.db', join(directory, 'backup.db')))
  copying.close()
  await browser.call('PUT', '/api/documents/draft', { content: 'second', token })
  await browser.call('DELETE', '/api/documents/draft/lock')

  const restored = browserAt((await sqliteServer(join(directory, 'backup.db'))).url)
  restored.cookie = browser.cookie
  expect((await restored.call('GET', '/api/documents/draft')).body.content).toBe('first')
  // The lock of the backup lives until its TTL ends, or its holder releases it.
  await restored.call('DELETE', '/api/documents/draft/lock')
  const next = await restored.call('POST', '/api/documents/draft/lock')
  expect(next.body.token).toBeGreaterThan(token)
})
