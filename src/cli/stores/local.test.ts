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
})
