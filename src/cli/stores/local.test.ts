import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { sqliteStore } from '../../stores/sqlite/index.ts'
import { openSqlite } from './local.ts'

vi.mock('../../stores/sqlite/index.ts')

const directory = mkdtempSync(join(tmpdir(), 'holdfast-local-'))
const path = join(directory, 'leases.db')
afterAll(() => rmSync(directory, { recursive: true }))

describe('a SQLite store that is opened by its address', () => {
  it.each([
    ['waits for the disk when clients on other machines use it', { isServed: true }, { synchronous: 'full' }],
    ['does not wait for the disk when all its holders are on this machine', {}, {}],
  ])('%s', async (_, openOptions, storeOptions) => {
    await openSqlite(`sqlite:${path}`, openOptions)
    expect(sqliteStore).toHaveBeenLastCalledWith(path, storeOptions)
  })

  it.each([
    ['keeps the generated secrets of a server beside its file', path, `${path}.secrets`],
    ['keeps no file of secrets for a database in memory', ':memory:', undefined],
  ])('%s', async (_, database, secretsFile) => {
    const { serverParts } = await openSqlite(`sqlite:${database}`, {})
    expect((await serverParts?.())?.secretsFile).toBe(secretsFile)
  })
})
