import type { Directory, FileHandle, FileWriter } from '../../../src/autosave/index.ts'
import type { WebDirectory, WebFile, WebWriter } from '../../../src/stores/browser/platform.ts'
import type { SimProcess } from '../process.ts'
import type { Random, World } from '../world.ts'

/** Each request to the browser, and each answer, takes up to so long. */
const LATENCY_MS = 3

interface StoredFile {
  readonly text: string
  readonly lastModified: number
}

interface OpenWriter {
  readonly path: string
  readonly owner: SimProcess
  text: string
}

export interface DiskOptions {
  /** Whether a second writer of a file is refused while one is open (`mode: 'exclusive'`). */
  readonly exclusive: boolean
  readonly onOperation: (what: string, path: string) => void
}

/**
 * The private directory of an origin. A tab that crashes gets no answers any more, and its writers are dropped: what was
 * not closed is not stored. A file is replaced as a whole when its writer is closed.
 */
export class OriginDisk {
  isFull = false
  readonly #world: World
  readonly #random: Random
  readonly #options: DiskOptions
  readonly #files = new Map<string, StoredFile>()
  readonly #directories = new Set([''])
  readonly #writers = new Set<OpenWriter>()

  constructor(world: World, random: Random, options: DiskOptions) {
    this.#world = world
    this.#random = random
    this.#options = options
  }

  /** As one tab sees it. */
  rootFor(tab: SimProcess): Directory & WebDirectory {
    return this.#directory(tab, '')
  }

  text(path: string): string | undefined {
    return this.#files.get(`/${path}`)?.text
  }

  /** The tab is gone. */
  drop(tab: SimProcess): void {
    for (const writer of this.#writers) if (writer.owner === tab) this.#writers.delete(writer)
  }

  #call<T>(tab: SimProcess, what: string, path: string, work: () => T): Promise<T> {
    const wait = (run: () => void) => this.#world.after(this.#random.between(0, LATENCY_MS), run)
    return new Promise((resolve, reject) => {
      wait(() => {
        // A crash may be noticed before this has arrived, or after it.
        if (tab.crashed && this.#random.chance(0.5)) return
        this.#options.onOperation(what, path.slice(1))
        try {
          const result = work()
          if (tab.crashed) this.drop(tab)
          wait(() => tab.deliver(() => resolve(result)))
        } catch (error) {
          wait(() => tab.deliver(() => reject(error)))
        }
      })
    })
  }

  #directory(tab: SimProcess, path: string): Directory & WebDirectory {
    const inside = (name: string) => `${path}/${name}`
    const expectDirectory = (wanted: string) => {
      if (!this.#directories.has(wanted)) throw missing(wanted)
    }
    return {
      getDirectoryHandle: (name, options) =>
        this.#call(tab, 'open', inside(name), () => {
          if (options?.create) this.#directories.add(inside(name))
          expectDirectory(inside(name))
          return this.#directory(tab, inside(name))
        }),
      getFileHandle: (name, options) =>
        this.#call(tab, 'open', inside(name), () => {
          expectDirectory(path)
          if (options?.create && !this.#files.has(inside(name))) this.#put(inside(name), '')
          this.#stored(inside(name))
          return this.#file(tab, inside(name))
        }),
      removeEntry: (name) =>
        this.#call(tab, 'remove', inside(name), () => {
          this.#stored(inside(name))
          if (this.#writersOf(inside(name)) > 0) throw busy(inside(name))
          this.#files.delete(inside(name))
        }),
      keys: () => this.#names(tab, path),
    }
  }

  async *#names(tab: SimProcess, path: string): AsyncGenerator<string> {
    const names = await this.#call(tab, 'list', path, () => {
      if (!this.#directories.has(path)) throw missing(path)
      const start = `${path}/`
      const inside = [...this.#files.keys()].filter((file) => file.startsWith(start))
      return inside.map((file) => file.slice(start.length)).filter((name) => !name.includes('/'))
    })
    yield* names
  }

  #file(tab: SimProcess, path: string): FileHandle & WebFile {
    return {
      getFile: () =>
        this.#call(tab, 'look at', path, () => {
          const seen = this.#stored(path)
          const read = (end?: number) =>
            this.#call(tab, 'read', path, () => {
              // What was replaced since it was looked at cannot be read.
              if (this.#files.get(path) !== seen) throw new DOMException('replaced', 'NotReadableError')
              return seen.text.slice(0, end)
            })
          return {
            size: Buffer.byteLength(seen.text),
            lastModified: seen.lastModified,
            text: () => read(),
            slice: (_start: number, end: number) => ({ text: () => read(end) }),
          }
        }),
      createWritable: (options?: { mode?: 'exclusive' }) =>
        this.#call(tab, 'begin to write', path, () => {
          this.#stored(path)
          const isRefused = this.#options.exclusive && options?.mode === 'exclusive'
          if (isRefused && this.#writersOf(path) > 0) throw busy(path)
          return this.#writer(tab, path)
        }),
    }
  }

  #writer(tab: SimProcess, path: string): FileWriter & WebWriter {
    const writer: OpenWriter = { path, owner: tab, text: '' }
    this.#writers.add(writer)
    const expectOpen = () => {
      if (!this.#writers.has(writer)) throw new DOMException('closed', 'InvalidStateError')
    }
    return {
      write: (more) =>
        this.#call(tab, 'write', path, () => {
          expectOpen()
          if (this.isFull) throw new DOMException('the disk is full (simulated)', 'QuotaExceededError')
          writer.text += more
        }),
      close: () =>
        this.#call(tab, 'close', path, () => {
          expectOpen()
          this.#writers.delete(writer)
          this.#put(path, writer.text)
        }),
      abort: () => this.#call(tab, 'abort', path, () => void this.#writers.delete(writer)),
    }
  }

  #put(path: string, text: string): void {
    this.#files.set(path, { text, lastModified: Math.floor(Date.UTC(2030, 0, 1) + this.#world.now) })
  }

  #stored(path: string): StoredFile {
    const file = this.#files.get(path)
    if (!file) throw missing(path)
    return file
  }

  #writersOf(path: string): number {
    return [...this.#writers].filter((writer) => writer.path === path).length
  }
}

function missing(path: string): DOMException {
  return new DOMException(`there is no ${path}`, 'NotFoundError')
}

function busy(path: string): DOMException {
  return new DOMException(`${path} has a writer`, 'NoModificationAllowedError')
}
