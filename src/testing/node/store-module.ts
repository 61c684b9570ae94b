import type { LeaseStore } from '../../core/index.ts'

/** What a process of the test uses, and closes at its end. */
export interface OpenedStore {
  readonly store: LeaseStore
  /** Closes the store, and the client under it. */
  close(): Promise<void>
}

/** The export `openStore` of the module that each process loads. */
export type OpenStore = (address: string) => Promise<OpenedStore> | OpenedStore

export async function openStoreOf(module: string, address: string): Promise<OpenedStore> {
  const exports: { readonly openStore?: OpenStore } = await import(module)
  if (typeof exports.openStore !== 'function')
    throw new TypeError(
      `${module}: expected an export openStore(address), got the exports ${Object.keys(exports).join(', ') || 'none'}`,
    )
  return exports.openStore(address)
}
