/** The port to a storage, and what the adapters of browser storages share. */

export type Items = Readonly<Record<string, unknown>>

export interface StorageChange {
  readonly oldValue?: unknown
  readonly newValue?: unknown
}

/** `null`: anything may have changed, for example while the page was in the back/forward cache. */
export type StorageListener = (changes: Readonly<Record<string, StorageChange>> | null) => void

/** What a storage can hold. Sizes are bytes in UTF-8: of a key and the JSON of its value, and of all of them. */
export interface StorageLimits {
  /** The name of the storage, for messages. */
  readonly of: string
  readonly itemBytes: number
  readonly bytes: number
  readonly items: number
}

/** Keys and JSON values that several contexts share. Values are copied, never shared. */
export interface StorageAdapter {
  /** The items that exist; missing keys are left out. All items are read at the same moment. */
  get(keys: readonly string[]): Promise<Items>
  /**
   * Writes all items or none. Readers see all of them at the same moment. The write leaves this context before `set`
   * returns, so it survives the end of its page. Calls of one context are carried out in their order.
   */
  set(items: Items): Promise<void>
  remove(keys: readonly string[]): Promise<void>
  /** All keys of the storage, also those that do not belong to the sync. */
  keys(): Promise<readonly string[]>
  /**
   * Reports every change of every context, also this one, as soon as it can be read. The changes may include keys
   * whose value is the same as before.
   */
  subscribe(listener: StorageListener): () => void
  /** Other devices write to it as well, at any time and without our locks. */
  readonly shared?: boolean
  /**
   * A write beyond these limits is refused before it is acknowledged. For a storage that refuses a write for its
   * frequency before it looks at the size: what can never fit must not wait.
   */
  readonly limits?: StorageLimits
  /** Where writes wait until they are carried out, if this storage allows only few writes. Default: this storage. */
  readonly log?: StorageAdapter
}

export function logOf(storage: StorageAdapter): StorageAdapter {
  return storage.log ?? storage
}

/** Calls back when the page returns from the back/forward cache. A page in that cache receives no events. */
export function onPageReturn(run: () => void): () => void {
  if (typeof addEventListener !== 'function') return () => {}
  const onPageShow = (event: Event) => {
    if ((event as PageTransitionEvent).persisted) run()
  }
  addEventListener('pageshow', onPageShow)
  return () => removeEventListener('pageshow', onPageShow)
}

export async function readKeys(storage: StorageAdapter, keys: readonly string[]): Promise<Items> {
  return keys.length > 0 ? storage.get(keys) : {}
}
