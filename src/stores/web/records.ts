import type { JsonObject } from '../../base/records.ts'

/** The holders and tokens of Web Locks: a lock itself has neither. `null`: the resource has no record. */
export interface LeaseRecords {
  get(resource: string): Promise<StoredRecord | null>
  all(): Promise<readonly StoredRecord[]>
  /** Resolves once every tab sees it. */
  put(record: StoredRecord): Promise<void>
  remove(resource: string): Promise<void>
  close(): void
}

export interface StoredRecord {
  readonly resource: string
  /** Of the last grant. */
  readonly token: number
  /** The last lease; `null` once it was ended. */
  readonly lease: {
    readonly id: string
    readonly owner: string
    readonly metadata: JsonObject | null
    readonly acquiredAt: number
  } | null
  readonly endedAt: number
}

const STORE = 'leases'

/** In the IndexedDB database of this name, with a record for each resource. */
export function indexedDbRecords(name: string): LeaseRecords {
  let opening: Promise<IDBDatabase> | undefined

  function open(): Promise<IDBDatabase> {
    opening ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(name, 1)
      request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'resource' })
      request.onerror = () => reject(request.error)
      request.onsuccess = () => {
        // The browser closes it when the user deletes the data of the site, or when a newer version opens it.
        request.result.onclose = forget
        request.result.onversionchange = forget
        resolve(request.result)
      }
    })
    opening.catch(() => {
      opening = undefined
    })
    return opening
  }

  function forget(): void {
    opening?.then((database) => database.close()).catch(() => {})
    opening = undefined
  }

  async function inStore<T>(
    mode: IDBTransactionMode,
    work: (store: IDBObjectStore) => IDBRequest<T>,
  ): Promise<T> {
    const transaction = (await open()).transaction(STORE, mode)
    const request = work(transaction.objectStore(STORE))
    return new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(request.result)
      transaction.onabort = () => reject(transaction.error ?? request.error)
    })
  }

  return {
    get: async (resource) =>
      (await inStore<StoredRecord | undefined>('readonly', (store) => store.get(resource))) ?? null,
    all: () => inStore<StoredRecord[]>('readonly', (store) => store.getAll()),
    put: async (record) => void (await inStore('readwrite', (store) => store.put(record))),
    remove: async (resource) => void (await inStore('readwrite', (store) => store.delete(resource))),
    close: forget,
  }
}
