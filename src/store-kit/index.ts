/**
 * What the stores of this package are made of, for those who write a store for another backend. See
 * `docs/stores/your-own.md`. Check the result with `describeStore` of `holdfast/testing`.
 *
 *     compare and set       `registerStore` on your own `Registers`: nothing else is needed
 *     transactions          the transitions of a `LeaseRow`, or of a `LeaseTable` that keeps all rows together
 *     functions or scripts  the same transitions on the server, written by you
 *
 * The last two also need the bounded call (`StoreCalls`), the listeners of this process (`LocalListeners`) and, if the
 * backend pushes, the one connection that listens (`PushConnection`).
 *
 * @module
 */
export { decodeShare, encodeShare } from '../base/share.ts'
export { compareUtf8 } from '../base/utf8-order.ts'
export { codeOf, isConnectionCode, storeError, type Verdict } from '../clients/store-error.ts'
export { type Cursor, cursorOf, mayBeListed, nextAfter, pageOf } from '../stores/lease-page.ts'
export {
  ask as askRow,
  Effects,
  expire as expireRow,
  isForgettable,
  isTokenOld,
  type LeaseRow,
  liveRecords,
  newRow,
  nextToken,
  type Reservation,
  type RowAsk,
  release as releaseRow,
  renew as renewRow,
  type StoredLease,
  shownRecords,
  TOKENS_PER_MS,
  type Waiter,
  waitingIn,
  wakesOf,
} from '../stores/lease-row.ts'
export { LeaseTable } from '../stores/lease-table.ts'
export { Calls, type CallsOptions, type Running, type Work } from '../stores/local/calls.ts'
export { LocalListeners } from '../stores/local/listeners.ts'
export { PushConnection, type PushConnectionOptions } from '../stores/local/push-connection.ts'
export { StoreCalls, type StoreCallsOptions } from '../stores/local/store-calls.ts'
export { KEEP_FREE_MS, RESERVATION_MS } from '../stores/options.ts'
export {
  type IndexFields,
  type Reading,
  type Register,
  type RegisterListener,
  type RegisterQuery,
  type RegisterStoreOptions,
  type Registers,
  registerStore,
  type Written,
} from '../stores/registers/index.ts'
export {
  decodeLease,
  decodeLeases,
  decodeReserved,
  decodeRow,
  encodeLease,
  encodeReserved,
  encodeRow,
  type StoredRow,
} from '../stores/stored-lease.ts'
