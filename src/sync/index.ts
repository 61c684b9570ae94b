export { type BroadcastMessenger, broadcastMessenger } from './broadcast-messenger.ts'
export type { ChangeListener, SyncChange, SyncStatus } from './changes.ts'
export {
  type ChromeApi,
  type ChromeAreaName,
  type ChromeChange,
  type ChromeContextOptions,
  type ChromeEvent,
  type ChromeMessengerOptions,
  type ChromeStorageArea,
  chromeContext,
  chromeMessenger,
  chromeStorage,
} from './chrome.ts'
export { type Coordinator, createCoordinator } from './coordinator.ts'
export { type IndexedDbStorage, indexedDbStorage } from './indexeddb-storage.ts'
export { type LayoutName, STORAGE_KEYS, type StorageKeys } from './layout.ts'
export {
  type HeldLease,
  type RequestsLocks,
  type SyncLocks,
  type WebLocksOptions,
  webLocks,
} from './locks.ts'
export { memoryMessengers, memoryStorage } from './memory.ts'
export { type EntityDelta, type EntityPatch, SYNC_ACTIONS, type SyncMessage } from './messages.ts'
export type { MessageListener, Messenger } from './messenger.ts'
export type { Migrations, StoredState } from './migrate.ts'
export type { DefaultsOf, SyncBaseOptions, SyncOptions } from './options.ts'
export { DEFAULT_SETTINGS, type SyncSettings, settingsProblems } from './settings.ts'
export type { Items, StorageAdapter, StorageChange, StorageLimits, StorageListener } from './storage.ts'
export { createSync, type Sync } from './sync.ts'
export {
  type ExportedCollection,
  exportCollection,
  type ImportOptions,
  importCollection,
} from './transfer.ts'
export type { SchemaIssue, SchemaResult, StandardSchema, SyncSchemas } from './validate.ts'
export type { SyncState } from './view.ts'
export type { SyncWarning, SyncWarningCode } from './warnings.ts'
