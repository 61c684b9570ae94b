import assert from 'node:assert/strict'
import { type Ask, LeaseError, type LeaseRecord, systemClock } from 'holdfast'
import {
  askRow,
  codeOf,
  compareUtf8,
  cursorOf,
  decodeLease,
  decodeLeases,
  decodeReserved,
  decodeRow,
  decodeShare,
  Effects,
  encodeLease,
  encodeReserved,
  encodeRow,
  encodeShare,
  expireRow,
  isConnectionCode,
  isForgettable,
  isTokenOld,
  KEEP_FREE_MS,
  LeaseTable,
  liveRecords,
  mayBeListed,
  newRow,
  nextAfter,
  nextToken,
  pageOf,
  RESERVATION_MS,
  registerStore,
  releaseRow,
  renewRow,
  shownRecords,
  storeError,
  TOKENS_PER_MS,
  waitingIn,
  wakesOf,
} from 'holdfast/store-kit'
import { MapRegisters } from './registers.ts'
import { storeCase } from './store.ts'

const TTL = 60_000
const NOW = Date.UTC(2030, 0, 1)

/** Makes a store of registers, and calls the transitions of rows, as docs/stores/your-own.md does. */
export async function storeKitCase(): Promise<void> {
  const names = { kind: 'map', backend: 'Map' }
  await storeCase(() => registerStore(new MapRegisters(), names))
  const options = { clock: systemClock, closeLimitMs: 500, maxInFlight: 10 }
  await storeCase(() => registerStore(new MapRegisters(), { ...names, ...options }))
  changesRow()
  keepsTable()
  storesRow()
  makesPages()
  explainsErrors()
}

function asking(id: string, more: Partial<Ask> = {}): Ask {
  return { resource: 'invoice:42', id, owner: 'surface', ttl: TTL, ...more }
}

function changesRow(): void {
  const row = newRow('invoice:42', 0)
  const effects = new Effects()
  const first = askRow(row, { ...asking('a'), process: 'a process', token: 7 }, null, NOW, effects)
  assert(first.granted && first.lease.token === 7)
  const second = askRow(row, asking('b'), 'a channel', NOW, effects)
  assert(!second.granted && second.place === 0)
  assert.equal(waitingIn([...row.queue.values()], 10).count, 1)
  assert.equal(waitingIn([{ id: 'b', owner: 'surface', share: null }], 10).first[0]?.id, 'b')
  const renewal = renewRow(row, { id: 'a', ttl: TTL, process: null }, NOW, effects)
  assert(renewal.ok)
  assert.equal(releaseRow(row, { id: 'a' }, NOW, effects).ended?.state, 'released')
  assert.deepEqual([...wakesOf(row, NOW)], [['b', 0]])
  assert.equal(RESERVATION_MS, 1000)
  const woken = askRow(row, asking('b'), 'a channel', NOW, effects)
  assert(woken.granted)
  assert.equal(liveRecords(row, NOW).length, 1)
  assert.equal(shownRecords(row, NOW)[0]?.state, 'held')
  assert.equal(releaseRow(row, { token: woken.lease.token }, NOW, effects).ended?.id, 'b')

  assert(askRow(row, asking('c'), null, NOW, effects).granted)
  assert.deepEqual(expireRow(row, NOW, effects), [])
  assert.equal(expireRow(row, NOW + TTL, effects, 10, [row.token])[0]?.state, 'expired')
  const later = NOW + TTL + KEEP_FREE_MS
  assert.deepEqual([isForgettable(row, NOW + TTL), isForgettable(row, later)], [false, true])
  assert.equal(isTokenOld({ token: row.token, endedAt: row.endedAt }, later), true)
  assert.equal(nextToken(0, NOW), NOW * TOKENS_PER_MS)
}

function keepsTable(): void {
  const effects = new Effects()
  const table = new LeaseTable()
  assert(table.acquire(asking('a'), '', NOW, effects).granted)
  assert(!table.acquire(asking('b', { wake: () => {} }), 'a channel', NOW, effects).granted)
  const { resource } = asking('a')
  assert(table.renew({ resource, id: 'a', ttl: TTL }, NOW, effects).ok)
  assert.equal(table.read([resource], NOW)[0]?.[0]?.id, 'a')
  assert.equal(table.waiting({ resources: [resource], limit: 1 })[0]?.count, 1)
  assert.equal(table.list({ prefix: 'invoice:', limit: 10 }, NOW).leases.length, 1)
  assert.equal(table.release({ resource, id: 'a' }, NOW, effects).ended?.id, 'a')
  assert.deepEqual(table.sweep(10, NOW, effects), [])

  const other = new LeaseTable(table.rows.values(), 5)
  other.release({ resource, id: 'b' }, NOW, effects)
  other.prune(NOW + KEEP_FREE_MS)
  assert.equal(other.rows.size, 0)
  assert(other.floor > 5)
}

function storesRow(): void {
  const row = newRow('invoice:42', 0)
  const effects = new Effects()
  askRow(row, asking('a', { share: Infinity }), null, NOW, effects)
  askRow(row, asking('b'), 'a channel', NOW, effects)
  assert.deepEqual(decodeRow(JSON.parse(JSON.stringify(encodeRow(row)))), row)
  assert.equal(decodeRow({}), null)
  const [lease] = row.leases
  assert(lease)
  const stored = encodeLease(lease)
  assert.deepEqual(decodeLease(JSON.parse(JSON.stringify(stored))), lease)
  assert.deepEqual(decodeLeases([stored]), [lease])
  releaseRow(row, { id: 'a' }, NOW, effects)
  assert.equal(row.reserved.size, 1)
  assert.deepEqual(decodeReserved(encodeReserved(row.reserved)), row.reserved)
  assert.equal(decodeShare(encodeShare(Infinity)), Infinity)
}

function makesPages(): void {
  const table = new LeaseTable()
  const resources = ['a', 'b', 'c']
  for (const resource of resources) table.acquire(asking(resource, { resource }), '', NOW, new Effects())
  const found: LeaseRecord[] = table.read(resources, NOW).flat()
  const page = pageOf(found, { limit: 1, prefix: '', after: 'a' })
  assert.deepEqual([page.leases[0]?.resource, page.next], ['b', 'b'])
  assert.equal(page.leases.map(nextAfter)[0], 'b')
  assert.equal(mayBeListed('b', { limit: 1, prefix: '', after: 'b' }), false)
  assert.deepEqual([cursorOf().resource, cursorOf('b').resource], ['', 'b'])
  assert(compareUtf8('a', 'b') < 0)
}

function explainsErrors(): void {
  const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
  const retryable = isConnectionCode(codeOf(refused))
  assert.equal(storeError('Map', refused, { retryable }).code, 'store-unavailable')
  const error = storeError('Map', refused, { retryable: false, advice: 'start the server' }, 'invoice:42')
  assert(error instanceof LeaseError)
  assert.deepEqual([error.code, error.resource], ['store-failed', 'invoice:42'])
  assert.match(error.message, /start the server/)
}
