export type Items = Readonly<Record<string, unknown>>

export interface StorageChange {
  readonly oldValue?: unknown
  readonly newValue?: unknown
}

/** `null`: anything may have changed, such as while the page lay in the back/forward cache. */
export type StorageListener = (changes: Readonly<Record<string, StorageChange>> | null) => void

/** A place for keys and JSON values that several contexts share. Values are copied, never shared. */
export interface StorageAdapter {
  /** The items that there are; a missing one is left out. All are read at one moment. */
  get(keys: readonly string[]): Promise<Items>
  /** Writes all of them or none, and shows them to readers at one moment. */
  set(items: Items): Promise<void>
  remove(keys: readonly string[]): Promise<void>
  /** All keys, also those of others. */
  keys(): Promise<readonly string[]>
  /** Tells of every change once it can be read, whoever made it, this context included. Unchanged keys may be among them. */
  subscribe(listener: StorageListener): () => void
}
