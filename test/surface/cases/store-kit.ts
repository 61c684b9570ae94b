import assert from 'node:assert/strict'
import { type Ask, LeaseError, systemClock } from 'holdfast'
import {
  compareUtf8,
  decodeRow,
  Effects,
  encodeRow,
  isConnectionError,
  LeaseTable,
  registerStore,
  storeError,
} from 'holdfast/store-kit'
import { MapRegisters } from './registers.ts'
import { storeCase } from './store.ts'

const TTL = 60_000
const HOUR_MS = 3_600_000
const NOW = Date.UTC(2030, 0, 1)

/** Makes a store of registers, and calls the transitions of a table, as docs/stores/your-own.md does. */
export async function storeKitCase(): Promise<void> {
  const names = { kind: 'map', backend: 'Map' }
  await storeCase(() => registerStore(new MapRegisters(), names))
  const options = { clock: systemClock, closeLimitMs: 500, maxInFlight: 10 }
  await storeCase(() => registerStore(new MapRegisters(), { ...names, ...options }))
  keepsTable()
  storesRow()
  explainsErrors()
}

function asking(id: string, more: Partial<Ask> = {}): Ask {
  return { resource: 'invoice:42', id, owner: 'surface', ttl: TTL, ...more }
}

function keepsTable(): void {
  const effects = new Effects()
  const table = new LeaseTable()
  assert(table.acquire(asking('a'), '', NOW, effects).granted)
  assert(!table.acquire(asking('b', { wake: () => {} }), 'a channel', NOW, effects).granted)
  assert.equal(table.acquireAll([asking('c')], NOW, effects), null)
  const { resource } = asking('a')
  assert(table.renew({ resource, id: 'a', ttl: TTL }, NOW, effects).ok)
  assert.equal(table.read([resource], NOW)[0]?.[0]?.id, 'a')
  assert.equal(table.waiting({ resources: [resource], limit: 1 })[0]?.count, 1)
  assert.equal(table.list({ prefix: 'invoice:', limit: 10 }, NOW).leases.length, 1)
  assert.equal(table.release({ resource, id: 'a' }, NOW, effects).ended?.id, 'a')
  assert.deepEqual(table.sweep(10, NOW, effects), [])

  const other = new LeaseTable(table.rows.values(), 5)
  other.release({ resource, id: 'b' }, NOW, effects)
  other.prune(NOW + HOUR_MS)
  assert.equal(other.rows.size, 0)
  assert(other.floor > 5)
}

function storesRow(): void {
  const table = new LeaseTable()
  const effects = new Effects()
  table.acquire(asking('a', { share: Infinity }), '', NOW, effects)
  table.acquire(asking('b', { wake: () => {} }), 'a channel', NOW, effects)
  const [row] = table.rows.values()
  assert(row)
  assert.deepEqual(decodeRow(JSON.parse(JSON.stringify(encodeRow(row)))), row)
  assert.equal(decodeRow({}), null)
  assert(compareUtf8('a', 'b') < 0)
}

function explainsErrors(): void {
  const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
  const retryable = isConnectionError(refused)
  assert.equal(storeError('Map', refused, { retryable }).code, 'store-unavailable')
  const error = storeError('Map', refused, { retryable: false, advice: 'start the server' }, 'invoice:42')
  assert(error instanceof LeaseError)
  assert.deepEqual([error.code, error.resource], ['store-failed', 'invoice:42'])
  assert.match(error.message, /start the server/)
}
