import * as lockFile from './lock-file-store.ts'

export async function loadLockFileStore(): Promise<typeof lockFile> {
  return lockFile
}
