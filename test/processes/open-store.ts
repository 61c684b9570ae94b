import { fileURLToPath } from 'node:url'
import type { LeaseStore } from '../../src/core/index.ts'

export interface OpenStore {
  readonly store: LeaseStore
  /** Closes the store, and the client under it. */
  close(): Promise<void>
}

/** A store by its URL. Only the store that is asked for is loaded, with its client. */
export async function openStore(address: string): Promise<OpenStore> {
  const { protocol } = new URL(address)
  const open = OPENERS[protocol]
  if (!open) throw new Error(`no store for ${protocol}; there are ${Object.keys(OPENERS).join(', ')}`)
  return open(address)
}

const OPENERS: Readonly<Record<string, (address: string) => Promise<OpenStore>>> = {
  'sqlite:': async (address) => {
    const { sqliteStore } = await import('../../src/stores/sqlite/index.ts')
    return withoutClient(sqliteStore(new URL(address).pathname))
  },
  'file:': async (address) => {
    const { fileStore } = await import('../../src/stores/file/index.ts')
    return withoutClient(fileStore(fileURLToPath(address)))
  },
}

function withoutClient(store: LeaseStore): OpenStore {
  return { store, close: () => store.close() }
}
