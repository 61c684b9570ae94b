import { LeaseError } from './errors.ts'

/** The origin private file system (OPFS). Pages that were not loaded over HTTPS or from localhost have none. */
export async function privateDirectory(): Promise<FileSystemDirectoryHandle> {
  const storage: StorageManager | undefined = globalThis.navigator?.storage
  if (storage?.getDirectory) return storage.getDirectory()
  const problem = 'this page has no private directory (OPFS): load it over HTTPS or from localhost'
  throw new LeaseError('store-failed', problem, { cause: new DOMException(problem, 'NotSupportedError') })
}
