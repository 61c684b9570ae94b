import { openDatabase } from '../../base/open-database-browser.ts'
import { type CopyRecord, isCopyRecord } from './copy-record.ts'

const DATABASE = 'holdfast-unsaved'
const STORE = 'copies'

/** Copies in IndexedDB. Where it is refused or full, nothing is written. */
export interface CopyArchive {
  /** The copies of all pages. Damaged ones are left out, and stay. */
  read(): Promise<CopyRecord[]>
  /** Whether it is written. */
  write(record: CopyRecord): Promise<boolean>
  remove(page: string): Promise<void>
}

let opening: Promise<IDBDatabase> | undefined

export function copyArchive(documentKey: string): CopyArchive {
  /** The keys of one document are next to each other. */
  const all = () => IDBKeyRange.bound([documentKey], [documentKey, []])
  return {
    async read() {
      const found = await inStore('readonly', (store) => store.getAll(all()))
      return (found ?? []).map(Object).filter(isCopyRecord)
    },
    async write(record) {
      return (await inStore('readwrite', (store) => store.put(record, [documentKey, record.page]))) !== null
    },
    async remove(page) {
      await inStore('readwrite', (store) => store.delete([documentKey, page]))
    },
  }
}

/** `null`: storage is refused or full. */
async function inStore<T>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T | null> {
  try {
    const transaction = (await open()).transaction(STORE, mode)
    const request = work(transaction.objectStore(STORE))
    return await new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(request.result)
      transaction.onabort = () => reject(transaction.error)
    })
  } catch {
    return null
  }
}

function open(): Promise<IDBDatabase> {
  opening ??= openDatabase(DATABASE, STORE, forget)
  opening.catch(forget)
  return opening
}

/** The next call opens it again. */
function forget(): void {
  opening = undefined
}
