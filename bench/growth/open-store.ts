import { memoryStore } from '../../src/stores/memory.ts'
import { type OpenStore, openStore as openByUrl } from '../../test/processes/open-store.ts'

/** A store by its URL, and `memory:` for one that only this process has. */
export async function openStore(address: string): Promise<OpenStore> {
  if (address.startsWith('http')) {
    const { httpStore } = await import('../../src/client/http-store.ts')
    const store = httpStore(address)
    return { store, close: () => store.close() }
  }
  if (address !== 'memory:') return openByUrl(address)
  const store = memoryStore()
  return { store, close: () => store.close() }
}
