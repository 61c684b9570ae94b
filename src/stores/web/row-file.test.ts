import { describe, expect, it } from 'vitest'
import { newRow } from '../lease-row.ts'
import { LeaseTable } from '../lease-table.ts'
import { decodeTable, encodeTable } from './row-file.ts'

const NOW = Date.UTC(2030, 0, 1)

const SOUND = { resource: 'a', token: 1, lease: null, endedAt: 0, line: [], reserved: null }
const fileWith = (damage: object) => JSON.stringify({ format: 1, floor: 0, rows: [{ ...SOUND, ...damage }] })

describe('the file of a directory store', () => {
  it('returns what was written', () => {
    const table = new LeaseTable([newRow('a', 7)], 7)
    expect(decodeTable({ text: encodeTable(table), lastModified: NOW }, NOW)).toEqual(table)
    expect(decodeTable(null, NOW)).toEqual(new LeaseTable())
  })

  it('has the queue of a row as `line`, as files of earlier versions do', () => {
    const [line, reserved] = [[{ id: 'x', channel: 'tab' }], { id: 'x', until: NOW }]
    const text = fileWith({ line, reserved })
    const table = decodeTable({ text, lastModified: NOW }, NOW)
    expect(table.rows.get('a')).toMatchObject({
      queue: new Map(line.map((waiter) => [waiter.id, waiter])),
      reserved,
    })
    expect(JSON.parse(encodeTable(table))).toEqual(JSON.parse(text))
  })

  it.each([
    ['empty', ''],
    ['cut off', '{"format":1,"rows":['],
    ['not an object', '17'],
    ['without a format', '{"rows":[]}'],
    ['a malformed row', '{"format":1,"floor":0,"rows":[{"resource":"a"}]}'],
    ['a malformed lease', fileWith({ lease: {} })],
    ['a malformed queue', fileWith({ line: {} })],
    ['a malformed waiter', fileWith({ line: [null] })],
    ['a malformed reservation', fileWith({ reserved: 5 })],
  ])('grants nothing for 30 s after its last change when it is damaged: %s', (_, text) => {
    const content = { text, lastModified: NOW }
    for (const time of [NOW, NOW + 29_999, NOW - 86_400_000])
      expect(() => decodeTable(content, time)).toThrow(expect.objectContaining({ code: 'store-unavailable' }))
    expect(decodeTable(content, NOW + 30_000).rows.size).toBe(0)
  })

  it('is left alone when it was written by a newer version', () => {
    const content = { text: '{"format":2}', lastModified: NOW }
    expect(() => decodeTable(content, NOW + 86_400_000)).toThrow(
      expect.objectContaining({ code: 'store-failed' }),
    )
  })
})
