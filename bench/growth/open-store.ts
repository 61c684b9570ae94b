import { memoryStore } from '../../src/stores/memory.ts'
import { type OpenStore, openStore as openByUrl } from '../../test/processes/open-store.ts'
import { TOKEN } from '../holdfast-server.ts'

/** A store by its URL, and `memory:` for one that only this process has. */
export async function openStore(address: string): Promise<OpenStore> {
  if (address.startsWith('http:')) {
    const { httpStore } = await import('../../src/client/http-store.ts')
    return withoutClient(httpStore(address, { token: TOKEN }))
  }
  return address === 'memory:' ? withoutClient(memoryStore()) : openByUrl(address)
}

function withoutClient(store: OpenStore['store']): OpenStore {
  return { store, close: () => store.close() }
}
