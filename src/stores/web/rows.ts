import { openDatabase } from '../../base/open-database-browser.ts'
import { type LeaseRow, newRow } from '../lease-row.ts'
import { decodeRow, encodeRow } from '../stored-lease.ts'

export interface WebRow extends LeaseRow {
  /** A lease was ended by force while others were live. Its tab may be frozen, and still hold the main lock. */
  isEvicted?: boolean
}

/** The rows of Web Locks: a lock itself has neither holder nor token. `null`: the resource has no row. */
export interface LeaseRecords {
  get(resource: string): Promise<WebRow | null>
  all(): Promise<readonly WebRow[]>
  /** Resolves once every tab sees it. */
  put(row: WebRow): Promise<void>
  remove(resource: string): Promise<void>
  close(): void
}

const STORE = 'leases'

/** In the IndexedDB database of this name, with a row for each resource. */
export function indexedDbRecords(name: string): LeaseRecords {
  let opening: Promise<IDBDatabase> | undefined

  function open(): Promise<IDBDatabase> {
    opening ??= openDatabase(name, STORE, forget, { keyPath: 'resource' })
    opening.catch(forget)
    return opening
  }

  /** The next call opens it again. */
  function forget(): void {
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
    get: async (resource) => read(await inStore<unknown>('readonly', (store) => store.get(resource))),
    all: async () =>
      (await inStore<unknown[]>('readonly', (store) => store.getAll()))
        .map(read)
        .filter((row) => row !== null),
    put: async (row) => void (await inStore('readwrite', (store) => store.put(encodeRecord(row)))),
    remove: async (resource) => void (await inStore('readwrite', (store) => store.delete(resource))),
    close() {
      opening?.then((database) => database.close()).catch(() => {})
      forget()
    },
  }
}

/** As it is stored. Two rows are equal if their JSON is. */
export function encodeRecord(row: WebRow): object {
  return { ...encodeRow(row), ...(row.isEvicted && { isEvicted: true }) }
}

/** Of a row that another version wrote, only the token is used. The locks tell whether the resource is held. */
function read(stored: unknown): WebRow | null {
  const { resource, token, isEvicted } = Object(stored)
  if (typeof resource !== 'string') return null
  const row = decodeRow(stored) ?? newRow(resource, Number.isSafeInteger(token) ? token : 0)
  return { ...row, ...(isEvicted === true && { isEvicted }) }
}
