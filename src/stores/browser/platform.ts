/**
 * The parts of the browser that the stores use, as structural types, so that tests can pass fakes.
 * `FileSystemDirectoryHandle` is a `WebDirectory`, `navigator.locks` is a `WebLocks`.
 */
export interface WebDirectory {
  getDirectoryHandle(name: string, options?: { create?: boolean }): Promise<WebDirectory>
  getFileHandle(name: string, options?: { create?: boolean }): Promise<WebFile>
  removeEntry(name: string): Promise<void>
}

export interface WebFile {
  getFile(): Promise<{ readonly lastModified: number; text(): Promise<string> }>
  createWritable(options?: { keepExistingData?: boolean; mode?: 'exclusive' }): Promise<WebWriter>
}

/** What it wrote becomes visible when it is closed. */
export interface WebWriter {
  write(text: string): Promise<void>
  close(): Promise<void>
  abort(): Promise<void>
}

export interface WebLocks {
  request<T>(
    name: string,
    options: {
      readonly mode?: 'exclusive' | 'shared'
      readonly ifAvailable?: boolean
      readonly steal?: boolean
      readonly signal?: AbortSignal
    },
    callback: (lock: unknown) => T | PromiseLike<T>,
  ): Promise<unknown>
  query(): Promise<{
    readonly held?: readonly { readonly name?: string; readonly mode?: string; readonly clientId?: string }[]
    readonly pending?: readonly { readonly name?: string }[]
  }>
}

/** A directory, or a function that gets it. */
export type DirectorySource = WebDirectory | (() => Promise<WebDirectory>)
