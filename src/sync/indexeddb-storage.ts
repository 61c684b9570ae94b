import { expectText, isObject } from '../base/arguments.ts'
import { createEmitter } from '../base/emitter.ts'
import { LeaseError, messageOf } from '../base/errors.ts'
import { openDatabase } from '../base/open-database-browser.ts'
import { isDeepEqual } from './json.ts'
import {
  type Items,
  onPageReturn,
  type StorageAdapter,
  type StorageChange,
  type StorageListener,
} from './storage.ts'

const ITEMS = 'items'

export interface IndexedDbStorage extends StorageAdapter, AsyncDisposable {
  close(): Promise<void>
}

/**
 * IndexedDB, with a `BroadcastChannel` that reports changes to the other tabs: for plain multi-tab applications.
 *
 * @example
 * createSync({ storage: indexedDbStorage('my-app'), messenger: broadcastMessenger(), locks: webLocks() })
 */
export function indexedDbStorage(name = 'holdfast-sync'): IndexedDbStorage {
  expectText('name', name)
  const otherTabs = new BroadcastChannel(`${name}:changes`)
  const listeners = createEmitter<Parameters<StorageListener>[0]>()
  let opened: Promise<IDBDatabase> | undefined
  otherTabs.addEventListener('message', ({ data }) => {
    if (isObject(data)) listeners.emit(data as Record<string, StorageChange>)
  })

  const storage: IndexedDbStorage = {
    async get(keys) {
      const found = await transact('readonly', (items) => keys.map((key) => items.get(key)))
      return Object.fromEntries(
        keys.flatMap((key, index) => (found[index] === undefined ? [] : [[key, found[index]]])),
      )
    },
    set: (items) => change(items),
    remove: (keys) => change(Object.fromEntries(keys.map((key) => [key, undefined]))),
    async keys() {
      const [keys] = await transact('readonly', (items) => [items.getAllKeys()])
      return (keys as unknown[]).map(String)
    },
    subscribe(listener) {
      const stops = [listeners.subscribe(listener), onPageReturn(() => listener(null))]
      return () => {
        for (const stop of stops) stop()
      }
    },
    async close() {
      otherTabs.close()
      const database = await opened?.catch(() => undefined)
      database?.close()
    },
    [Symbol.asyncDispose]: () => storage.close(),
  }
  return storage

  /** `undefined` removes a key. Listeners are called when the change is stored. */
  async function change(items: Items): Promise<void> {
    const keys = Object.keys(items)
    const before = await transact('readwrite', (store) => {
      const reads = keys.map((key) => store.get(key))
      for (const key of keys) items[key] === undefined ? store.delete(key) : store.put(items[key], key)
      return reads
    })
    const changes = Object.fromEntries(
      keys
        .map((key, index) => [key, { oldValue: before[index], newValue: items[key] }] as const)
        .filter(([, { oldValue, newValue }]) => !isDeepEqual(oldValue, newValue)),
    )
    if (Object.keys(changes).length === 0) return
    try {
      otherTabs.postMessage(changes)
    } catch {
      // The channel was closed meanwhile. The change is stored.
    }
    queueMicrotask(() => listeners.emit(structuredClone(changes)))
  }

  /** Resolves with the results of the requests when the whole transaction is complete. */
  function transact(
    mode: IDBTransactionMode,
    start: (items: IDBObjectStore) => readonly IDBRequest[],
  ): Promise<readonly unknown[]> {
    opened ??= openDatabase(name, ITEMS, onEnd)
    return opened.then((database) => inTransaction(database, mode, start)).catch(fail)
  }

  /** The next call opens the database again, when the old one is gone. */
  function onEnd(): void {
    opened = undefined
    listeners.emit(null)
  }

  function fail(cause: unknown): never {
    opened = undefined
    throw new LeaseError('store-failed', messageOf(cause), { cause })
  }
}

function inTransaction(
  database: IDBDatabase,
  mode: IDBTransactionMode,
  start: (items: IDBObjectStore) => readonly IDBRequest[],
): Promise<readonly unknown[]> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(ITEMS, mode)
    const requests = start(transaction.objectStore(ITEMS))
    transaction.oncomplete = () => resolve(requests.map((request) => request.result))
    transaction.onabort = () => reject(transaction.error)
  })
}
