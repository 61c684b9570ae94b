import { memoryStore } from '../../src/stores/memory.ts'
import type { OpenedStore } from '../../src/testing/node/index.ts'
import { openStore as openByUrl } from '../../test/processes/open-store.ts'
import { TOKEN } from '../holdfast-server.ts'

/** A store by its URL, and `memory:` for one that only this process has. */
export async function openStore(address: string): Promise<OpenedStore> {
  if (address.startsWith('http:')) {
    const { httpStore } = await import('../../src/client/http-store.ts')
    return withoutClient(httpStore(address, { token: TOKEN }))
  }
  return address === 'memory:' ? withoutClient(memoryStore()) : openByUrl(address)
}

function withoutClient(store: OpenedStore['store']): OpenedStore {
  return { store, close: () => store.close() }
}
