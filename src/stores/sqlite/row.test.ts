import { expect, it } from 'vitest'
import { decodeRow, encodeRow, type StoredRow } from './row.ts'

it('a row has the queue and the reservation in the column `line`, as files of earlier versions do', () => {
  const line = '{"line":[{"id":"a","channel":"p"},{"id":"b","channel":"p"}],"reserved":{"id":"a","until":7}}'
  const stored: StoredRow = {
    resource: 'r',
    token: 5,
    id: null,
    owner: null,
    metadata: null,
    acquired_at: null,
    expires_at: null,
    span: null,
    ended_at: 3,
    line,
    process: null,
  }
  const row = decodeRow(stored, 4)
  expect(row).toMatchObject({
    queue: [
      { id: 'a', channel: 'p' },
      { id: 'b', channel: 'p' },
    ],
    reserved: { id: 'a', until: 7 },
  })
  expect(encodeRow(row)).toEqual(stored)
})
