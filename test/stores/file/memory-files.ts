import { dirname } from 'node:path'

/** A file system in memory. Each call is synchronous. */
export class MemoryFiles {
  /** Text for a file, `null` for a directory. */
  readonly #nodes = new Map<string, string | null>([['/', null]])

  list(directory: string): string[] | null {
    if (this.#nodes.get(directory) !== null) return null
    return [...this.#nodes.keys()].filter((path) => path !== '/' && dirname(path) === directory).map(nameOf)
  }

  read(path: string): string | null {
    return this.#nodes.get(path) ?? null
  }

  write(path: string, text: string): boolean {
    if (this.#nodes.has(path)) throw new Error(`${path} is there already`)
    if (this.#nodes.get(dirname(path)) !== null) return false
    this.#nodes.set(path, text)
    return true
  }

  link(from: string, to: string): boolean {
    const text = this.#nodes.get(from)
    if (typeof text !== 'string' || this.#nodes.has(to) || this.#nodes.get(dirname(to)) !== null) return false
    this.#nodes.set(to, text)
    return true
  }

  /** As in POSIX, an empty directory is replaced. */
  move(from: string, to: string): boolean {
    const occupied = this.#nodes.has(to) && this.list(to)?.length !== 0
    if (!this.#nodes.has(from) || occupied || this.#nodes.get(dirname(to)) !== null) return false
    for (const path of this.#within(from)) {
      this.#nodes.set(to + path.slice(from.length), this.#nodes.get(path) ?? null)
      this.#nodes.delete(path)
    }
    return true
  }

  /** Renames a file over another. The store never does that; a planted mistake may. */
  replace(from: string, to: string): void {
    this.#nodes.set(to, this.#nodes.get(from) ?? null)
    this.#nodes.delete(from)
  }

  remove(path: string): boolean {
    this.#nodes.delete(path)
    return true
  }

  makeDirectory(path: string): void {
    if (path !== '/') this.makeDirectory(dirname(path))
    this.#nodes.set(path, null)
  }

  removeDirectory(path: string): void {
    if (this.list(path)?.length === 0) this.#nodes.delete(path)
  }

  removeTree(path: string): void {
    for (const inside of this.#within(path)) this.#nodes.delete(inside)
  }

  changedAt(path: string): number | null {
    return this.#nodes.has(path) ? 0 : null
  }

  toString(): string {
    return JSON.stringify([...this.#nodes].sort())
  }

  #within(path: string): string[] {
    return [...this.#nodes.keys()].filter((other) => other === path || other.startsWith(`${path}/`))
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
