import { describe, expect, it } from 'vitest'
import { expectWritten, fenceAllows, guardTable, postgresGuard, sqliteGuard } from './index.ts'

const lease = { resource: 'r', token: 7, id: 'a' }

describe('a guard in SQL', () => {
  it('takes only names for its table that need no quotes', () => {
    expect(guardTable()).toContain(' holdfast_guard\n')
    expect(guardTable({ table: 'app.Guard_2' })).toContain(' app.Guard_2\n')
    for (const table of ['', '1a', 'a b', 'a;b', 'a"b', 'a.b.c', "a'"]) {
      const message = 'table: expected letters, digits and underscores'
      expect(() => guardTable({ table })).toThrow(message)
      expect(() => postgresGuard({ unsafe: async () => [] }, { table })).toThrow(message)
      expect(() => sqliteGuard({ prepare: () => ({ get: () => null }) }, { table })).toThrow(message)
    }
  })

  it('is to be asked again when the fence was gone when it was looked at', async () => {
    await expect(postgresGuard({ unsafe: async () => [] }).check(lease)).rejects.toMatchObject({
      code: 'store-unavailable',
      retryable: true,
    })
  })
})

describe('a fenced update', () => {
  it('has a condition for the placeholders of every client', () => {
    expect(fenceAllows('$2', '$3')).toBe('(fence < $2 OR (fence = $2 AND fence_id = $3))')
  })

  it('is refused when it changed nothing', () => {
    for (const changed of [1, 2n]) expectWritten(lease, changed)
    for (const changed of [0, 0n, null])
      expect(() => expectWritten(lease, changed)).toThrow(
        expect.objectContaining({ code: 'stale-token', retryable: false, resource: 'r' }),
      )
  })
})
