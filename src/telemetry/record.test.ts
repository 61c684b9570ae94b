import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { record } from '../../test/telemetry/records.ts'
import { isNewerRecord, isRecord, recordSchema } from './record.ts'

it('the published schema is the schema of this version', () => {
  const published = new URL('../../docs/telemetry.schema.json', import.meta.url)
  expect(JSON.parse(readFileSync(published, 'utf8'))).toEqual(JSON.parse(JSON.stringify(recordSchema)))
})

const good = record('lock:acquired', 0, { waitedMs: 1.5, attempts: 2, retryable: true, owner: '名前 ' })

describe('a record', () => {
  it.each([
    ['in full', {}],
    ['with fields of a later version', { added: { later: true } }],
  ])('a record is valid %s', (_, change) => {
    expect(isRecord({ ...good, ...change })).toBe(true)
  })

  it.each([
    { v: 0 },
    { v: '1' },
    { at: '2030-01-01' },
    { at: '2030-01-01T25:61:00.000Z' },
    { at: '2030-01-01T24:00:00.000Z' },
    { at: '2030-13-01T12:00:00.000Z' },
    { at: '2030-00-01T12:00:00.000Z' },
    { at: 0 },
    { stream: 'elsewhere' },
    { type: '' },
    { type: 'a sentence of words' },
    { type: 'x'.repeat(65) },
    { code: 'a sentence of words' },
    { owner: '' },
    { owner: 'x'.repeat(513) },
    { attempts: 1.5 },
    { attempts: -1 },
    { waitedMs: '1' },
    { waitedMs: null },
    { retryable: 'no' },
  ])('a record is invalid with %j', (change) => {
    expect(isRecord({ ...good, ...change })).toBe(false)
  })

  it.each([null, undefined, 7, 'text', [], {}])('a record is not a record: %j', (value) => {
    expect(isRecord(value)).toBe(false)
  })

  it.each([null, 7, [], {}, { v: '2' }, { v: { toString: null } }])(
    'a record of no version is not newer: %j',
    (value) => {
      expect(isNewerRecord(value)).toBe(false)
      expect(isNewerRecord({ v: 2 })).toBe(true)
    },
  )
})
