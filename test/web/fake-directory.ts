import type { Clock } from '../../src/core/index.ts'
import type { WebDirectory, WebFile, WebWriter } from '../../src/stores/browser/platform.ts'

interface StoredFile {
  text: string
  lastModified: number
}

export type FileOperation = 'open' | 'read' | 'write' | 'close' | 'remove'

/** The private directory of one origin, with the parts that the stores use. All tabs of a test share it. */
export class FakeFileSystem {
  readonly #clock: Clock
  readonly #files = new Map<string, StoredFile>()
  readonly #directories = new Set<string>([''])
  /** By path: how many writers are open, also on a file that was removed meanwhile. */
  readonly #writers = new Map<string, number>()
  /** Whether writers support `mode: 'exclusive'`. Other browsers ignore it. */
  readonly #exclusive: boolean
  /** If it throws or rejects, the operation on this path fails. While its promise is pending, the operation hangs. */
  refuse: (operation: FileOperation, path: string) => void | Promise<void> = () => {}

  constructor(clock: Clock, { exclusive = true } = {}) {
    this.#clock = clock
    this.#exclusive = exclusive
  }

  get root(): WebDirectory {
    return this.#directory('')
  }

  /** Every file, with its text. */
  get tree(): Record<string, string> {
    return Object.fromEntries([...this.#files].map(([path, file]) => [path.slice(1), file.text]))
  }

  /** Writes a file, like another program. */
  put(path: string, text: string): void {
    this.#directories.add(`/${path}`.slice(0, `/${path}`.lastIndexOf('/')))
    this.#files.set(`/${path}`, { text, lastModified: this.#clock.now() })
  }

  /** Like a user who deletes the data of the site. */
  clear(): void {
    this.#files.clear()
    this.#directories.clear()
    this.#directories.add('')
  }

  #directory(path: string): WebDirectory {
    const inside = (name: string) => `${path}/${name}`
    return {
      getDirectoryHandle: async (name, options) => {
        if (options?.create) this.#directories.add(inside(name))
        if (!this.#directories.has(inside(name))) throw notFound(inside(name))
        return this.#directory(inside(name))
      },
      getFileHandle: async (name, options) => {
        await this.refuse('open', inside(name))
        if (!this.#directories.has(path)) throw notFound(path)
        if (options?.create && !this.#files.has(inside(name))) this.put(inside(name).slice(1), '')
        this.#stored(inside(name))
        return this.#file(inside(name))
      },
      removeEntry: async (name) => {
        this.#stored(inside(name))
        await this.refuse('remove', inside(name))
        if (this.#writers.get(inside(name))) throw busy(inside(name))
        this.#files.delete(inside(name))
      },
    }
  }

  #file(path: string): WebFile {
    return {
      getFile: async () => {
        await this.refuse('read', path)
        const { text, lastModified } = this.#stored(path)
        return { lastModified, text: async () => text }
      },
      createWritable: async (options) => {
        await this.refuse('write', path)
        const open = this.#writers.get(path) ?? 0
        if (this.#exclusive && options?.mode === 'exclusive' && open > 0) throw busy(path)
        this.#writers.set(path, open + 1)
        return this.#writer(path)
      },
    }
  }

  #writer(path: string): WebWriter {
    let text = ''
    let isOpen = true
    const end = () => {
      if (!isOpen) return
      isOpen = false
      this.#writers.set(path, (this.#writers.get(path) ?? 1) - 1)
    }
    return {
      write: async (more) => {
        text += more
      },
      close: async () => {
        await this.refuse('close', path)
        end()
        this.put(path.slice(1), text)
      },
      abort: async () => end(),
    }
  }

  #stored(path: string): StoredFile {
    const file = this.#files.get(path)
    if (!file) throw notFound(path)
    return file
  }
}

function notFound(path: string): DOMException {
  return new DOMException(`there is no ${path}`, 'NotFoundError')
}

function busy(path: string): DOMException {
  return new DOMException(`${path} has a writer`, 'NoModificationAllowedError')
}
