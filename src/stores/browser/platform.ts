/**
 * What the stores need of the browser, taken structurally: the real objects fit, and so do fakes in tests.
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

/** Nothing is seen of what it wrote until it is closed. */
export interface WebWriter {
  write(text: string): Promise<void>
  close(): Promise<void>
  abort(): Promise<void>
}

export interface WebLocks {
  request<T>(
    name: string,
    options: {
      readonly ifAvailable?: boolean
      readonly steal?: boolean
      readonly signal?: AbortSignal
    },
    callback: (lock: unknown) => T | PromiseLike<T>,
  ): Promise<unknown>
  query(): Promise<{
    readonly held?: readonly { readonly name?: string }[]
    readonly pending?: readonly { readonly name?: string }[]
  }>
}

/** A directory, or how to get it, for one that can only be had by waiting. */
export type DirectorySource = WebDirectory | (() => Promise<WebDirectory>)

export function openDirectory(source: DirectorySource): Promise<WebDirectory> {
  return typeof source === 'function' ? source() : Promise.resolve(source)
}

/** The name by which the browser tells its errors apart. */
export function nameOf(error: unknown): string | undefined {
  return (error as Partial<DOMException> | undefined)?.name
}
