import { describe, expect, it } from 'vitest'
import { ask, Effects, newRow } from '../lease-row.ts'
import { LeaseTable } from '../lease-table.ts'
import { decodeTable, encodeTable } from './directory-rows.ts'

const NOW = Date.UTC(2030, 0, 1)

const SOUND = { resource: 'a', token: 1, endedAt: 0, leases: [], line: [], reserved: [] }
const fileWith = (damage: object) => JSON.stringify({ format: 2, floor: 0, rows: [{ ...SOUND, ...damage }] })

describe('the file of a directory store', () => {
  it('the file of a directory store returns what was written', () => {
    const table = new LeaseTable([newRow('a', 7)], 7)
    expect(decodeTable({ text: encodeTable(table), lastModified: NOW }, NOW)).toEqual(table)
    expect(decodeTable(null, NOW)).toEqual(new LeaseTable())
  })

  it('the file of a directory store keeps shares, also without a limit', () => {
    const row = newRow('a', 0)
    const request = { resource: 'a', owner: 'Mika', ttl: 1000 }
    ask(
      row,
      { ...request, id: 'reader', share: Infinity, atLeast: 9, lockDelay: 7 },
      null,
      NOW,
      new Effects(),
    )
    ask(row, { ...request, id: 'writer' }, 'tab', NOW, new Effects())
    ask(row, { ...request, id: 'later', share: 3 }, 'tab', NOW, new Effects())
    row.reserved.set('writer', { until: NOW + 1, share: Infinity })
    const table = new LeaseTable([row], 7)
    expect(decodeTable({ text: encodeTable(table), lastModified: NOW }, NOW)).toEqual(table)
  })

  it('the file of a directory store has a lease, a queue as `line` and a reservation in files of the first version', () => {
    const lease = { id: 'w', owner: 'Mika', metadata: null, acquiredAt: 1, expiresAt: 5, span: 4 }
    const line = [{ id: 'x', channel: 'tab' }]
    const old = { resource: 'a', token: 1, lease, endedAt: 0, line, reserved: { id: 'x', until: NOW } }
    const text = JSON.stringify({
      format: 1,
      floor: 0,
      rows: [old, { ...old, resource: 'b', lease: null, reserved: null }],
    })
    const { rows } = decodeTable({ text, lastModified: NOW }, NOW)
    expect(rows.get('a')).toEqual({
      resource: 'a',
      token: 1,
      leases: [{ ...lease, token: 1, share: null }],
      endedAt: 0,
      queue: new Map([['x', { id: 'x', channel: 'tab', share: null }]]),
      reserved: new Map([['x', { until: NOW, share: null }]]),
    })
    expect(rows.get('b')).toMatchObject({ leases: [], reserved: new Map() })
  })

  it.each([
    ['empty', ''],
    ['cut off', '{"format":1,"rows":['],
    ['not an object', '17'],
    ['without a format', '{"rows":[]}'],
    ['a format that has no value', '{"format":{"toString":null},"rows":[]}'],
    ['a malformed row', '{"format":2,"floor":0,"rows":[{"resource":"a"}]}'],
    ['a malformed lease', fileWith({ leases: [{}] })],
    ['a malformed queue', fileWith({ line: {} })],
    ['a malformed waiter', fileWith({ line: [null] })],
    ['a waiter without a channel', fileWith({ line: [{ id: 'x' }] })],
    ['a waiter with a malformed share', fileWith({ line: [{ id: 'x', channel: 'tab', share: 'all' }] })],
    ['a token that is not whole', fileWith({ token: 1.5 })],
    ['a malformed reservation', fileWith({ reserved: 5 })],
  ])(
    'the file of a directory store grants nothing for 30 s after its last change when it is damaged: %s',
    (_, text) => {
      const content = { text, lastModified: NOW }
      for (const time of [NOW, NOW + 29_999, NOW - 86_400_000])
        expect(() => decodeTable(content, time)).toThrow(
          expect.objectContaining({ code: 'store-unavailable' }),
        )
      expect(decodeTable(content, NOW + 30_000).rows.size).toBe(0)
    },
  )

  it('the file of a directory store is left alone when it was written by a newer version', () => {
    const content = { text: '{"format":3}', lastModified: NOW }
    expect(() => decodeTable(content, NOW + 86_400_000)).toThrow(
      expect.objectContaining({ code: 'store-failed' }),
    )
  })
})
