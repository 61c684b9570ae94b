/** What stores read back: rows of this version and of earlier ones, damaged by others. */
import { LeaseError } from '../../../src/base/errors.ts'
import type { LeaseRecord } from '../../../src/base/records.ts'
import { isShare } from '../../../src/base/share.ts'
import { decodeLease, decodeWaiter } from '../../../src/stores/etcd/rows.ts'
import * as files from '../../../src/stores/file/rows.ts'
import type { LeaseRow } from '../../../src/stores/lease-row.ts'
import { leaseOf, messageOf, numbersIn, shownIn } from '../../../src/stores/mysql/rows.ts'
import * as redis from '../../../src/stores/redis/rows.ts'
import * as registered from '../../../src/stores/registers/rows.ts'
import { rowOf } from '../../../src/stores/registers/transitions.ts'
import * as sqlite from '../../../src/stores/sqlite/rows.ts'
import { decodeRow, encodeRow } from '../../../src/stores/stored-lease.ts'
import { decodeTable, encodeTable } from '../../../src/stores/web/directory-rows.ts'
import { expectComesBack } from '../same.ts'
import { type Input, reading, type Target } from '../target.ts'

const NOW = 1_900_000_000_000
const TOKEN = NOW * 1000

const lease = {
  id: 'a-lease',
  owner: 'Ann',
  token: TOKEN,
  metadata: { job: 7 },
  share: null,
  acquiredAt: NOW,
  expiresAt: NOW + 30_000,
  span: 30_000,
}
const shared = { ...lease, id: 'b', token: TOKEN + 1, share: 5, atLeast: 1000, lockDelay: 500 }
const reader = { ...lease, id: 'c', token: TOKEN + 2, share: 2 ** 53 - 1, metadata: null, keptUntil: NOW + 9 }
const row = {
  resource: 'a room',
  token: TOKEN + 2,
  endedAt: NOW,
  leases: [lease, shared, reader],
  line: [{ id: 'w', channel: 'tab-1', owner: 'Bob', share: null }],
  reserved: [{ id: 'w', until: NOW + 1000, share: 5 }],
}

export const jsonRows = reading(
  texts(row, { ...row, leases: [], line: [], reserved: [] }),
  decodedRow,
  (found) => {
    expectRow(found)
    expectComesBack(found, () => decodedRow(JSON.stringify(encodeRow(found))))
  },
)

function decodedRow(text: string) {
  return decodeRow(parse(text))
}

const ended = { ...lease, resource: 'a room', remaining: 0, state: 'released' }
const generation = { ...row, format: 2, change: 'x', ended: [ended], changed: ['a-lease'], forgotten: false }

export const fileRows = reading(
  texts(
    generation,
    { ...generation, leases: [], ended: [] },
    { ...generation, format: 1, leases: undefined, lease, ended: null },
    { ...generation, format: 3 },
  ),
  (text) => {
    const saved = files.decode(text)
    files.isNewer(text)
    return saved
  },
  (saved) => {
    expectRow(saved.row)
    saved.ended.forEach(expectRecord)
    expectTexts(...saved.changed)
    expectComesBack(saved, () => files.decode(files.encode(saved, 'again')))
  },
)

const oneLease = { ...row, lease, reserved: null }

export const webTables = reading(
  texts(
    { format: 2, floor: TOKEN, rows: [row] },
    { format: 2, floor: 0, rows: [] },
    { format: 1, floor: 0, rows: [oneLease, { ...oneLease, resource: 'other', lease: null }] },
    { format: 3, floor: 0, rows: [] },
  ),
  // The damage is older than the quarantine of a damaged file: what it contains is read, or nothing.
  (text) => decodeTable({ text, lastModified: NOW }, NOW),
  (table) => {
    for (const each of table.rows.values()) expectRow(each)
    expectComesBack(table.rows, () => decodeTable({ text: encodeTable(table), lastModified: NOW }, NOW).rows)
  },
)

const before = { token: TOKEN, endedAt: NOW, leases: [lease, reader] }
const write = (type: string, intent: object) => ({ version: 2, write: 'w', before, type, intent })
const { id, owner } = lease
const acquiring = { id: 'x', owner, ttl: 30_000, metadata: { a: 1 }, share: 5, atLeast: 10, lockDelay: 20 }

export const registers = reading(
  texts(
    write('acquire', acquiring),
    write('acquire', { id: 'x', owner, ttl: 30_000, replace: 'any' }),
    write('renew', { id, ttl: 60_000 }),
    write('release', { id }),
    write('release', { token: TOKEN }),
    write('expire', { tokens: [TOKEN] }),
    {
      version: 1,
      write: 'w',
      type: 'grant',
      id,
      owner,
      ttl: 30_000,
      floor: 0,
      replaced: null,
      metadata: null,
    },
    { version: 1, write: 'w', type: 'renewal', lease, span: 30_000, ttl: 30_000 },
    { version: 1, write: 'w', type: 'end', lease },
    { version: 1, write: 'w', type: 'floor', token: TOKEN },
  ),
  (text) => {
    const register = { name: 'a room', text, writtenMicros: TOKEN }
    if (text.includes('floor')) return { floor: registered.decodeFloor({ ...register, name: '' }), register }
    return { write: registered.decode(register), register }
  },
  (found) => {
    if (found.floor !== undefined) return expectFinite(found.floor)
    expectRow(found.write.before)
    expectRow(rowOf(found.register).state)
    const { before, type, intent } = found.write
    expectComesBack(found.write, () =>
      registered.decode({ ...found.register, text: registered.encode(before, type, intent) }),
    )
  },
)

const about = JSON.stringify({ resource: 'a room', id: 'a-lease', owner: 'Ann', metadata: { a: 1 } })
const redisRow = `F ${TOKEN} ${TOKEN} ${TOKEN} ${TOKEN} 30000000 tab-1 a-lease ${about}`

export const redisRows = reading(
  [
    redisRow,
    redisRow.replace('F', `W${TOKEN}:w`),
    redisRow.replace('F', 'S5:1000:500:0'),
    redisRow.replace('F', `S:1000:500:${TOKEN + 5000}`),
    `held ${redisRow}`,
    `released ${redisRow}`,
    `kept ${TOKEN} ${redisRow.replace('F', 'S5:9000000:500:0')}`,
    'a-lease tab-1 "Ann"',
    'a-lease tab-1 5 "Ann"',
    `F ${TOKEN} ${TOKEN}`,
  ],
  (text) => {
    if (/^(held|released|expired|taken-over|kept) /.test(text)) return { record: redis.unpackChange(text) }
    const waiter = text.endsWith('"') ? redis.unpackWaiter(text) : null
    if (waiter) return { waiter }
    const [record] = redis.unpackShown([text], TOKEN)
    return record && { record }
  },
  ({ record, waiter }) => {
    if (record) expectRecord(record)
    if (waiter) expectTexts(waiter.id, waiter.owner)
  },
)

const etcdLease = {
  version: 1,
  ...lease,
  ttl: 30,
  delay: { lease: '77', seconds: 5 },
  least: { lease: '78', seconds: 9 },
}
const entry = { key: 'leases/a/l', lease: '7', created: 5, modified: 9 }

export const etcdRows = reading(
  texts(
    etcdLease,
    { ...etcdLease, share: 5 },
    { ...etcdLease, delay: undefined, metadata: null },
    { version: 1, id, owner, share: null },
  ),
  (value) => {
    const stored = { ...entry, value } as unknown as Parameters<typeof decodeLease>[0]
    return value.includes('ttl')
      ? { lease: decodeLease(stored).value }
      : { waiter: decodeWaiter(stored).value }
  },
  (found) => {
    const { id, owner, share } = found.lease ?? found.waiter
    expectTexts(id, owner)
    expectShare(share)
    if (!found.lease) return
    expectMetadata(found.lease.metadata)
    expectFinite(found.lease.acquiredAt, found.lease.ttl)
  },
)

const columns: sqlite.StoredRow = {
  resource: 'a room',
  token: TOKEN,
  id,
  owner,
  metadata: '{"a":1}',
  acquired_at: NOW,
  expires_at: NOW + 30_000,
  span: 30_000,
  ended_at: NOW,
  line: null,
  process: null,
  leases: null,
}
const queued = JSON.stringify({ reserved: row.reserved, isShared: true, processes: { 'tab-1': 'x' } })

/** The columns that are text. SQLite keeps the types of the others. */
export const sqliteRows: Target = {
  corpus: [
    { metadata: '{"a":1}' },
    { metadata: '{"a":1}', line: queued },
    { leases: JSON.stringify(row.leases), line: queued },
    { line: JSON.stringify({ reserved: [] }), process: 'node 7 8' },
  ],
  open: () => ({
    feed(input: Input) {
      const found = attempt(() => sqlite.decodeRow({ ...columns, ...input }, NOW))
      if (!found) return 'refused'
      expectRow(found)
      for (const process of found.processes.values()) expectTexts(process)
      const shown = ({ leases }: LeaseRow) => leases.map(({ id, token, share }) => ({ id, token, share }))
      expectComesBack(shown(found), () => shown(sqlite.decodeRow(sqlite.encodeRow(found), NOW)))
      return 'accepted'
    },
  }),
}

const mysqlRow = {
  resource: 'a room',
  token: String(TOKEN),
  id,
  owner,
  metadata: '{"a":1}',
  share: '5',
  acquired_at: String(TOKEN),
  expires_at: String(TOKEN + 30_000_000),
  span: '30000000',
  at: String(TOKEN),
  at_least: '0',
  lock_delay: '0',
  state: 'held',
  kind: 'held',
  seq: '7',
  wake_in: '5',
}

/** Columns of numbers are texts here, as a client of large integers gives them. */
export const mysqlRows: Target = {
  corpus: [mysqlRow, { ...mysqlRow, kind: 'wake' }, { ...mysqlRow, state: 'expired', metadata: '{}' }],
  open: () => ({
    feed(input: Input) {
      const found = attempt(() => {
        const stored = { ...mysqlRow, ...input, kept_until: null }
        messageOf(stored)
        shownIn([stored])
        numbersIn(input['seq'])
        return leaseOf(stored)
      })
      if (!found) return 'refused'
      expectRecord(found)
      return 'accepted'
    },
  }),
}

function attempt<T>(work: () => T): T | null {
  try {
    return work()
  } catch (error) {
    if (error instanceof LeaseError) return null
    throw error
  }
}

function texts(...values: readonly object[]): string[] {
  return values.map((value) => JSON.stringify(value))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function expectRow({ resource, token, endedAt, leases, queue, reserved }: LeaseRow): void {
  expectTexts(resource)
  expectFinite(token, endedAt)
  for (const each of leases) {
    expectTexts(each.id, each.owner)
    expectFinite(each.token, each.acquiredAt, each.expiresAt, each.span)
    expectMetadata(each.metadata)
    expectShare(each.share)
  }
  for (const waiter of queue.values()) expectTexts(waiter.id, waiter.channel)
  for (const { until, share } of reserved.values()) {
    expectFinite(until)
    expectShare(share)
  }
}

function expectRecord({
  resource,
  id,
  owner,
  token,
  metadata,
  share,
  acquiredAt,
  expiresAt,
  remaining,
}: LeaseRecord) {
  expectTexts(resource, id, owner)
  expectFinite(token, acquiredAt)
  for (const time of [expiresAt, remaining]) if (time !== null) expectFinite(time)
  expectMetadata(metadata)
  expectShare(share)
}

function expectTexts(...values: readonly unknown[]): void {
  for (const value of values) if (typeof value !== 'string') throw new TypeError(`${typeof value} for a text`)
}

function expectFinite(...values: readonly unknown[]): void {
  for (const value of values) if (!Number.isFinite(value)) throw new TypeError('expected a number')
}

function expectShare(share: unknown): void {
  if (share !== null && !isShare(share)) throw new TypeError('not a share')
}

function expectMetadata(metadata: unknown): void {
  if (typeof metadata !== 'object' || Array.isArray(metadata)) throw new TypeError('not metadata')
}
