import { describe, expect, it } from 'vitest'
import { newRow } from '../lease-row.ts'
import { decodeRows, encodeRows } from './row-file.ts'

const NOW = Date.UTC(2030, 0, 1)

const fileWith = (damage: object) =>
  JSON.stringify({ format: 1, floor: 0, rows: [{ ...newRow('a', 1), ...damage }] })

describe('the file of a directory store', () => {
  it('brings back what it was given', () => {
    const table = { rows: new Map([['a', newRow('a', 7)]]), floor: 7 }
    expect(decodeRows({ text: encodeRows(table), lastModified: NOW }, NOW)).toEqual(table)
    expect(decodeRows(null, NOW)).toEqual({ rows: new Map(), floor: 0 })
  })

  it.each([
    ['empty', ''],
    ['cut off', '{"format":1,"rows":['],
    ['no object', '17'],
    ['without a format', '{"rows":[]}'],
    ['a row that is none', '{"format":1,"floor":0,"rows":[{"resource":"a"}]}'],
    ['a lease that is none', fileWith({ lease: {} })],
    ['a line that is none', fileWith({ line: {} })],
    ['a waiter that is none', fileWith({ line: [null] })],
    ['a reservation that is none', fileWith({ reserved: 5 })],
  ])('grants nothing for 30 s after its last change when it is damaged: %s', (_, text) => {
    const content = { text, lastModified: NOW }
    for (const time of [NOW, NOW + 29_999, NOW - 86_400_000])
      expect(() => decodeRows(content, time)).toThrow(expect.objectContaining({ code: 'store-unavailable' }))
    expect(decodeRows(content, NOW + 30_000).rows.size).toBe(0)
  })

  it('is left alone when it was written by a newer version', () => {
    const content = { text: '{"format":2}', lastModified: NOW }
    expect(() => decodeRows(content, NOW + 86_400_000)).toThrow(
      expect.objectContaining({ code: 'store-failed' }),
    )
  })
})
