/*
 * What the stores of this package are made of, for those who write a store for another backend. See
 * `docs/stores/your-own.md`. Check the result with `describeStore` of `holdfast/testing`.
 *
 *     compare and set       `registerStore` on your own `Registers`: nothing else is needed
 *     transactions          the transitions of a `LeaseTable`, with the bounded calls (`StoreCalls`) and the listeners
 *                           of this process (`LocalListeners`)
 *     functions or scripts  the same transitions on the server, written by you
 *
 * Until version 1.1 this entry may change in a minor version.
 *
 * @module
 */
export { compareUtf8 } from '../base/utf8-order.ts'
export { isConnectionError, storeError, type Verdict } from '../clients/store-error.ts'
export {
  Effects,
  type LeaseRow,
  type Reservation,
  type StoredLease,
  type Waiter,
} from '../stores/lease-row.ts'
export { LeaseTable } from '../stores/lease-table.ts'
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
export { decodeRow, encodeRow, type StoredRow } from '../stores/stored-lease.ts'
export { type CallWork, LocalListeners, StoreCalls, type StoreCallsOptions } from './local-parts.ts'
