import { describe, expect, it, vi } from 'vitest'
import { sqliteStore } from '../../stores/sqlite/index.ts'
import { openSqlite } from './local.ts'

vi.mock('../../stores/sqlite/index.ts')

describe('a SQLite store that is opened by its address', () => {
  it.each([
    ['waits for the disk when clients on other machines use it', { isServed: true }, { synchronous: 'full' }],
    ['does not wait for the disk when all its holders are on this machine', {}, {}],
  ])('%s', async (_, openOptions, storeOptions) => {
    await openSqlite('sqlite:./leases.db', openOptions)
    expect(sqliteStore).toHaveBeenLastCalledWith(expect.stringContaining('leases.db'), storeOptions)
  })
})
