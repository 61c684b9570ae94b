/*
 * One state for all contexts of an extension.
 *
 *     caller ─ write ─▶ view (shown at once) ─▶ log record (same tick) ─▶ writer ─ under the lock ─▶ storage
 *     view ◀─ apply ── reader ◀─ what to read ── onChanged, messages
 *
 * **A write is a record of the log**, handed to the storage in the tick of the event loop in which it is made
 * (`append.ts`), because only that survives a page that closes. All writes of one tick are one record. The rest is
 * loaded on demand (`writing.ts`): what becomes of a record (`after-append.ts`), carrying out, messages, and the
 * rare methods.
 *
 * **What is shown** is the seed's keys plus the records, in the order of their keys. `fold.ts` computes it, for the
 * view and for the context that carries records out.
 *
 * **Carrying out** (`writer.ts`, `carry-out.ts`, `fold.ts`, `index-changes.ts`, `schedule.ts`): a page or the worker
 * takes the lock, lists the log, computes the result, stores it together with the answers to these records, and then
 * removes them. So a record counts once, no matter who carries it out and how often. On `storage.sync` the log is in
 * another area: there an update is first turned into a set, which may be repeated, and removed keys go before the
 * answer. Records that were carried out together also leave the view together, because one that stayed on top would
 * hide what the later ones have stored. A content script's `updateEntity` is a compare-and-swap in the log; the
 * record is replaced by its answer. Requests that wait for the same lock share one run (`request-batch.ts`).
 *
 * **Acknowledgement**: up to 1 000 entities when the index has the write, above that when the log has it. A large
 * index follows when the collection is idle.
 *
 * **Every message is a hint** (`announce.ts` sends it, `hints.ts` acts on it). Events and messages only name keys to
 * read, and reads follow each other. What is shown never goes back in time, so no message needs an order.
 *
 * **One format.** The meta record names layout, shards and schema version. A context with another format is refused
 * with `other-format`. A migration is one write: `set` of several keys is atomic.
 */

export { type BroadcastMessenger, broadcastMessenger } from './broadcast-messenger.ts'
export type { ChangeListener, SyncChange, SyncStatus } from './changes.ts'
export {
  type ChromeApi,
  type ChromeAreaName,
  type ChromeChange,
  type ChromeEvent,
  type ChromeStorageArea,
  chromeContext,
  chromeMessenger,
  chromeStorage,
} from './chrome.ts'
export { type Coordinator, createCoordinator } from './coordinator.ts'
export { type IndexedDbStorage, indexedDbStorage } from './indexeddb-storage.ts'
export { type LayoutName, STORAGE_KEYS, type StorageKeys } from './layout.ts'
export { type HeldLease, type RequestsLocks, type SyncLocks, webLocks } from './locks.ts'
export { memoryMessengers, memoryStorage } from './memory.ts'
export { type EntityDelta, type EntityPatch, SYNC_ACTIONS, type SyncMessage } from './messages.ts'
export type { MessageListener, Messenger } from './messenger.ts'
export type { Migrations, StoredState } from './migrate.ts'
export type {
  ChromeContextOptions,
  ChromeMessengerOptions,
  DefaultsOf,
  ImportOptions,
  SyncBaseOptions,
  SyncOptions,
  WebLocksOptions,
} from './options.ts'
export { DEFAULT_SETTINGS, type SyncSettings, settingsProblems } from './settings.ts'
export type { Items, StorageAdapter, StorageChange, StorageLimits, StorageListener } from './storage.ts'
export { createSync, type Sync } from './sync.ts'
export { type ExportedCollection, exportCollection, importCollection } from './transfer.ts'
export type { SchemaIssue, SchemaResult, StandardSchema, SyncSchemas } from './validate.ts'
export type { SyncState } from './view.ts'
export type { SyncWarning, SyncWarningCode } from './warnings.ts'
