import { expect, it } from 'vitest'
import { decodeRow, encodeRow } from './rows.ts'

it('a row has the reservation and the processes of its waiters in the column `line`', () => {
  const line = '{"reserved":[{"id":"a","until":7,"share":null}],"processes":{"p":"record"}}'
  const stored = {
    resource: 'r',
    token: 1,
    id: null,
    owner: null,
    metadata: null,
    acquired_at: null,
    expires_at: null,
    span: null,
    ended_at: 3,
    line,
    process: null,
    leases: null,
  }
  const row = decodeRow(stored, 4)
  expect(row).toMatchObject({ queue: new Map(), reserved: new Map([['a', { until: 7, share: null }]]) })
  expect([...row.processes]).toEqual([['p', 'record']])
  expect(encodeRow(row)).toEqual(stored)
})
