import { describe, expect, it } from 'vitest'
import type { LeaseRow, StoredLease } from './lease-row.ts'
import { decodeLease, decodeLeases, decodeRow, encodeLease, encodeRow } from './stored-lease.ts'

const LEASE: StoredLease = {
  id: 'a',
  owner: 'Mika',
  token: 7,
  metadata: { room: 1 },
  share: 5,
  acquiredAt: 1000,
  expiresAt: 3000,
  span: 2000,
  process: 'p1',
  atLeast: 10,
  lockDelay: 20,
  keptUntil: 4000,
}

const ROW: LeaseRow = {
  resource: 'r',
  token: 9,
  endedAt: 500,
  leases: [LEASE, { ...LEASE, id: 'b', token: 9, metadata: null, share: Infinity, process: null }],
  queue: new Map([
    ['w1', { id: 'w1', channel: 'c1', owner: 'Ren', share: null }],
    ['w2', { id: 'w2', channel: 'c2', share: Infinity }],
  ]),
  reserved: new Map([
    ['w1', { until: 6000, share: null }],
    ['w2', { until: 7000, share: 3 }],
  ]),
}

const stored = () => JSON.parse(JSON.stringify(encodeRow(ROW)))

describe('a row as JSON', () => {
  it('a row as JSON is read as it was written, in its order', () => {
    const row = decodeRow(stored())
    expect(row).toEqual(ROW)
    expect([...(row?.queue.keys() ?? [])]).toEqual(['w1', 'w2'])
  })

  it('a row as JSON of an earlier version has no time of its last end', () => {
    expect(decodeRow({ ...stored(), endedAt: undefined })).toEqual({ ...ROW, endedAt: 0 })
  })

  it.each<[string, unknown]>([
    ['nothing', null],
    ['a text', 'row'],
    ['no name', { ...stored(), resource: 7 }],
    ['no token', { ...stored(), token: undefined }],
    ['a token that is a text', { ...stored(), token: '9' }],
    ['a token that is a fraction', { ...stored(), token: 1.5 }],
    ['no queue', { ...stored(), line: undefined }],
    ['no leases', { ...stored(), leases: undefined }],
    ['a damaged lease', { ...stored(), leases: [...stored().leases, {}] }],
    ['no reservations', { ...stored(), reserved: undefined }],
    ['reservations of another kind', { ...stored(), reserved: { w1: 6000 } }],
    ['a reservation that is nothing', { ...stored(), reserved: [null] }],
    ['a reservation for nobody', { ...stored(), reserved: [{ until: 6000, share: null }] }],
    ['a reservation without an end', { ...stored(), reserved: [{ id: 'w1', share: null }] }],
    ['a reservation of no share', { ...stored(), reserved: [{ id: 'w1', until: 6000, share: -2 }] }],
    ['a waiter that is nothing', { ...stored(), line: [null] }],
    ['a waiter without an id', { ...stored(), line: [{ channel: 'c', owner: 'Ren', share: null }] }],
    ['a waiter without a channel', { ...stored(), line: [{ id: 'w', owner: 'Ren', share: null }] }],
    [
      'a waiter with a strange owner',
      { ...stored(), line: [{ id: 'w', channel: 'c', owner: 5, share: null }] },
    ],
    ['a waiter of no share', { ...stored(), line: [{ id: 'w', channel: 'c', share: 'all' }] }],
    [
      'a damaged waiter behind others',
      { ...stored(), line: [...stored().line, { id: 5, channel: 'c', share: null }] },
    ],
  ])('a row as JSON is none with %s', (_, value) => {
    expect(decodeRow(value)).toBeNull()
  })
})

describe('a lease as JSON', () => {
  const { atLeast, lockDelay, keptUntil, process, ...least } = LEASE

  it.each<[string, StoredLease]>([
    ['all fields', LEASE],
    ['no fields that may be absent', least],
    ['no process', { ...LEASE, process: null }],
    ['any number beside it', { ...LEASE, share: Infinity }],
    ['none beside it', { ...LEASE, share: null }],
    ['no metadata', { ...LEASE, metadata: null }],
  ])('a lease as JSON is read as it was written with %s', (_, lease) => {
    expect(decodeLease(JSON.parse(JSON.stringify(encodeLease(lease))))).toEqual(lease)
  })

  it.each<[string, unknown]>([
    ['nothing', null],
    ['a list', [LEASE]],
    ['an id that is a number', { ...LEASE, id: 5 }],
    ['no owner', { ...LEASE, owner: undefined }],
    ['a token that is a text', { ...LEASE, token: '7' }],
    ['metadata that are a text', { ...LEASE, metadata: 'x' }],
    ['no share of a lease', { ...LEASE, share: 0 }],
    ['no start', { ...LEASE, acquiredAt: null }],
    ['no end', { ...LEASE, expiresAt: '3000' }],
    ['no span', { ...LEASE, span: undefined }],
    ['a strange atLeast', { ...LEASE, atLeast: null }],
    ['a strange lockDelay', { ...LEASE, lockDelay: '20' }],
    ['a strange end of keeping', { ...LEASE, keptUntil: 'soon' }],
    ['a strange process', { ...LEASE, process: 5 }],
  ])('a lease as JSON is none with %s', (_, value) => {
    expect(decodeLease(value)).toBeNull()
    expect(decodeLeases([LEASE, value])).toBeNull()
  })
})
