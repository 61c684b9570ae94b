import { READ_ATTEMPTS } from './options.ts'

/** The part of a `FileSystemDirectoryHandle` that AutoSave uses. */
export interface Directory {
  getDirectoryHandle(name: string, options?: { create?: boolean }): Promise<Directory>
  getFileHandle(name: string, options?: { create?: boolean }): Promise<FileHandle>
  removeEntry(name: string): Promise<void>
  keys(): AsyncIterable<string>
}

export interface FileHandle {
  getFile(): Promise<{
    readonly size: number
    text(): Promise<string>
    slice(start: number, end: number): { text(): Promise<string> }
  }>
  createWritable(options?: { keepExistingData?: boolean; mode?: 'exclusive' }): Promise<FileWriter>
}

/** What is written becomes visible with `close`, which replaces the whole file at once. */
export interface FileWriter {
  write(text: string): Promise<void>
  close(): Promise<void>
  abort(): Promise<void>
}

/** The text of a file, or its first `head` bytes; `null`: there is no such file. */
export async function readText(directory: Directory, name: string, head?: number): Promise<string | null> {
  for (let attempt = 1; ; attempt++) {
    const file = await getIfPresent(directory, name)
    if (!file) return null
    try {
      const blob = await file.getFile()
      return await (head === undefined ? blob : blob.slice(0, head)).text()
    } catch (error) {
      if (attempt === READ_ATTEMPTS) throw error
    }
  }
}

export async function getIfPresent(directory: Directory, name: string): Promise<FileHandle | null> {
  try {
    return await directory.getFileHandle(name)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

export function isMissing(error: unknown): boolean {
  return (error as Error | undefined)?.name === 'NotFoundError'
}
