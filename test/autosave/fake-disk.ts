import type { Directory, FileHandle, FileWriter } from '../../src/autosave/index.ts'

export type DiskOperation = 'open' | 'read' | 'create-writable' | 'write' | 'close' | 'remove'

export interface FakeDiskOptions {
  /** A closing writer replaces the file character by character, which a correct browser does not. */
  readonly tearing?: boolean
  /** In characters. */
  readonly capacity?: number
}

/** A private directory whose page can crash after any step. Writers that were closed before keep their effect. */
export class FakeDisk {
  readonly files: Map<string, string>
  readonly #directories: Set<string>
  readonly #tearing: boolean
  readonly #capacity: number
  /** Steps so far: every operation and, with `tearing`, every character. */
  steps = 0
  /** At this step the page crashes, and none of its calls returns any more. */
  diesAt = Infinity
  readonly #pauses = new Set<{ operation: DiskOperation; inPath: string; ended: Promise<void> }>()
  /** Throws to make an operation on a path fail; a promise makes it wait. */
  refuse: (operation: DiskOperation, path: string) => unknown = () => {}

  constructor(
    { tearing = false, capacity = Infinity }: FakeDiskOptions = {},
    files = new Map<string, string>(),
    directories = new Set(['']),
  ) {
    this.#tearing = tearing
    this.#capacity = capacity
    this.files = files
    this.#directories = directories
  }

  get root(): Directory {
    return this.#directory('')
  }

  /** The paths of all files. */
  get paths(): string[] {
    return [...this.files.keys()].map((path) => path.slice(1)).sort()
  }

  /** As when the user clears the site's data. */
  clear(): void {
    this.files.clear()
    this.#directories.clear()
    this.#directories.add('')
  }

  /** Pauses the next such operation on a path that contains `inPath`. Returns a function that resumes it. */
  pause(operation: DiskOperation, inPath = ''): () => void {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.#pauses.add({ operation, inPath, ended })
    return end
  }

  /** The same disk, for another page that crashes independently. */
  shared(): FakeDisk {
    return new FakeDisk({}, this.files, this.#directories)
  }

  #directory(path: string): Directory {
    const inside = (name: string) => `${path}/${name}`
    return {
      getDirectoryHandle: async (name, options) => {
        await this.#work('open', inside(name))
        if (!this.#directories.has(path)) throw missing(path)
        if (options?.create) this.#directories.add(inside(name))
        if (!this.#directories.has(inside(name))) throw missing(inside(name))
        return this.#directory(inside(name))
      },
      getFileHandle: async (name, options) => {
        await this.#work('open', inside(name))
        if (!this.#directories.has(path)) throw missing(path)
        if (options?.create && !this.files.has(inside(name))) this.files.set(inside(name), '')
        this.#text(inside(name))
        return this.#file(inside(name))
      },
      removeEntry: async (name) => {
        await this.#work('remove', inside(name))
        this.#text(inside(name))
        this.files.delete(inside(name))
      },
      keys: () => this.#names(path),
    }
  }

  async *#names(path: string): AsyncGenerator<string> {
    if (!this.#directories.has(path)) throw missing(path)
    const start = `${path}/`
    for (const file of this.files.keys()) {
      const name = file.slice(start.length)
      if (file.startsWith(start) && !name.includes('/')) yield name
    }
  }

  #file(path: string): FileHandle {
    const text = async () => {
      await this.#work('read', path)
      return this.#text(path)
    }
    return {
      getFile: async () => ({
        size: Buffer.byteLength(this.#text(path)),
        text,
        slice: (start, end) => ({ text: async () => (await text()).slice(start, end) }),
      }),
      createWritable: async () => {
        await this.#work('create-writable', path)
        return this.#writer(path)
      },
    }
  }

  #writer(path: string): FileWriter {
    let text = ''
    return {
      write: async (more) => {
        await this.#work('write', path)
        const used = [...this.files.values()].reduce((sum, file) => sum + file.length, 0)
        if (used + text.length + more.length > this.#capacity)
          throw new DOMException('full', 'QuotaExceededError')
        text += more
      },
      close: async () => {
        await this.#work('close', path)
        this.#text(path)
        if (!this.#tearing) this.files.set(path, text)
        else
          for (let end = 0; end <= text.length; end++) {
            this.files.set(path, text.slice(0, end))
            if (++this.steps >= this.diesAt) await death()
          }
      },
      abort: async () => {
        text = ''
      },
    }
  }

  async #work(operation: DiskOperation, path: string): Promise<void> {
    if (this.steps >= this.diesAt) await death()
    const pause = [...this.#pauses].find(
      ({ operation: paused, inPath }) => paused === operation && path.includes(inPath),
    )
    if (pause) this.#pauses.delete(pause)
    await pause?.ended
    await this.refuse(operation, path.slice(1))
    if (++this.steps >= this.diesAt) await death()
  }

  #text(path: string): string {
    const text = this.files.get(path)
    if (text === undefined) throw missing(path)
    return text
  }
}

function death(): Promise<never> {
  return new Promise(() => {})
}

function missing(path: string): DOMException {
  return new DOMException(`there is no ${path}`, 'NotFoundError')
}
