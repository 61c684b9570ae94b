import { describe, expect, it, vi } from 'vitest'
import { sqliteStore } from '../../stores/sqlite/index.ts'
import { openSqlite } from './sqlite.ts'

vi.mock('../../stores/sqlite/index.ts')

describe('a SQLite store by its URL', () => {
  it.each([
    ['waits for the disk when others rely on it', { isServed: true }, { synchronous: 'full' }],
    ['does not where its holders go with the power as well', {}, {}],
  ])('%s', async (_, opening, options) => {
    await openSqlite('sqlite:./leases.db', opening)
    expect(sqliteStore).toHaveBeenLastCalledWith(expect.stringContaining('leases.db'), options)
  })
})
