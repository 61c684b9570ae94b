import { fileStore } from '../../stores/file/index.ts'
import { networkConcerns, placeOf } from './local.ts'
import type { OpenedStore, Opening } from './opened-store.ts'

export async function openFile(address: string, opening: Opening): Promise<OpenedStore> {
  const { path } = placeOf(address, opening)
  const store = fileStore(path)
  return {
    store,
    examine: async () => ({ version: `files of ${process.platform}`, concerns: networkConcerns(path) }),
    close: () => store.close(),
  }
}
