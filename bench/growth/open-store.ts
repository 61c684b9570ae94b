import type { OpenedStore } from '../../src/testing/node/index.ts'
import { openStore as openByUrl } from '../../test/processes/open-store.ts'
import { TOKEN } from '../holdfast-server.ts'

/** A store by its URL. That of a server of Holdfast needs the token of the benchmarks. */
export async function openStore(address: string): Promise<OpenedStore> {
  if (address.startsWith('http:')) {
    const { httpStore } = await import('../../src/client/http-store.ts')
    const store = httpStore(address, { token: TOKEN })
    return { store, close: () => store.close() }
  }
  return openByUrl(address)
}
