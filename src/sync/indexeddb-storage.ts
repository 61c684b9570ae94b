import { LeaseError } from '../core/index.ts'
import { isDeepEqual, isObject } from './json.ts'
import { subscribeTo } from './listeners.ts'
import { onPageReturn } from './page-return.ts'
import type { Items, StorageAdapter, StorageChange, StorageListener } from './storage.ts'

const ITEMS = 'items'

/**
 * IndexedDB, with a `BroadcastChannel` that tells the other tabs: for plain multi-tab applications.
 *
 * @example
 * createSync({ storage: indexedDbStorage('my-app'), messenger: broadcastMessenger(), locks: webLocks() })
 */
export function indexedDbStorage(name = 'holdfast-sync'): StorageAdapter & { close(): Promise<void> } {
  const channel = new BroadcastChannel(`${name}:changes`)
  const listeners = new Set<StorageListener>()
  let opened: Promise<IDBDatabase> | undefined
  channel.addEventListener('message', ({ data }) => {
    if (isObject(data)) tell(data as Record<string, StorageChange>)
  })

  return {
    async get(keys) {
      const found = await transact('readonly', (items) => keys.map((key) => items.get(key)))
      return Object.fromEntries(
        keys.flatMap((key, at) => (found[at] === undefined ? [] : [[key, found[at]]])),
      )
    },
    set: (items) => change(items),
    remove: (keys) => change(Object.fromEntries(keys.map((key) => [key, undefined]))),
    async keys() {
      const [keys] = await transact('readonly', (items) => [items.getAllKeys()])
      return (keys as unknown[]).map(String)
    },
    subscribe(listener) {
      const stops = [subscribeTo(listeners, listener), onPageReturn(() => listener(null))]
      return () => {
        for (const stop of stops) stop()
      }
    },
    async close() {
      channel.close()
      const database = await opened?.catch(() => undefined)
      database?.close()
    },
  }

  /** `undefined` removes. Others are told when it is stored. */
  async function change(items: Items): Promise<void> {
    const keys = Object.keys(items)
    const before = await transact('readwrite', (store) => {
      const olds = keys.map((key) => store.get(key))
      for (const key of keys) items[key] === undefined ? store.delete(key) : store.put(items[key], key)
      return olds
    })
    const changes = Object.fromEntries(
      keys
        .map((key, at) => [key, { oldValue: before[at], newValue: items[key] }] as const)
        .filter(([, { oldValue, newValue }]) => !isDeepEqual(oldValue, newValue)),
    )
    if (Object.keys(changes).length === 0) return
    try {
      channel.postMessage(changes)
    } catch {
      // Closed meanwhile. It is stored all the same.
    }
    queueMicrotask(() => tell(structuredClone(changes)))
  }

  function tell(changes: Readonly<Record<string, StorageChange>>): void {
    for (const listener of listeners) listener(changes)
  }

  /** Resolves with the results of the requests when the whole transaction is durable. */
  async function transact(
    mode: IDBTransactionMode,
    ask: (items: IDBObjectStore) => readonly IDBRequest[],
  ): Promise<readonly unknown[]> {
    opened ??= open()
    const database = await opened.catch(fail)
    return new Promise<readonly unknown[]>((resolve, reject) => {
      const transaction = database.transaction(ITEMS, mode)
      const requests = ask(transaction.objectStore(ITEMS))
      transaction.oncomplete = () => resolve(requests.map((request) => request.result))
      transaction.onabort = () => reject(transaction.error)
    }).catch(fail)
  }

  function open(): Promise<IDBDatabase> {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(ITEMS)
    return new Promise((resolve, reject) => {
      request.onerror = () => reject(request.error)
      request.onsuccess = () => {
        // Whoever deletes the database must not wait for this tab; the next call opens it again.
        request.result.onversionchange = () => {
          request.result.close()
          opened = undefined
        }
        resolve(request.result)
      }
    })
  }

  function fail(cause: unknown): never {
    opened = undefined
    throw new LeaseError('store-failed', cause instanceof Error ? cause.message : String(cause), { cause })
  }
}
