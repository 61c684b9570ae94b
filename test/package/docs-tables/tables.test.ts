import { describe, expect, it } from 'vitest'
import { CHECKS } from './checks.ts'
import { differences } from './compare-table.ts'
import { docsTables } from './markdown-table.ts'
import { rewrite } from './write-table.ts'

const tables = docsTables()

/** `UPDATE_TABLES=1 npx vitest run test/package/docs-tables` writes what the code says into the pages. */
const { UPDATE_TABLES } = process.env
const isUpdate = UPDATE_TABLES === '1'

describe('what the code says is in', () => {
  it.each(CHECKS)('$table', async (check) => {
    const { table: name, rows } = check
    const table = tables.find((other) => other.name === name)
    if (!table) throw new Error(`${name}: there is no such table`)
    const expected = await rows()
    expect(expected.length).toBeGreaterThan(0)
    const found = differences(table, check, expected)
    if (found.length > 0 && isUpdate) return rewrite(table, check, expected)
    if (found.length > 0) throw new Error(found.join('\n'))
  })
})
