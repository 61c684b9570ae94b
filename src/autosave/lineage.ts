import type { Entry } from './save-file.ts'

/** What the state in memory is made from, and whether it has been edited since. */
export class Lineage {
  /** The save that counted when the state was loaded or saved last. */
  base: string | null = null
  /** The checksum of what was loaded or saved then. */
  #content: string | null = null
  #edits = 0
  #savedEdits = 0

  get edits(): number {
    return this.#edits
  }

  get isUnsaved(): boolean {
    return this.#edits !== this.#savedEdits
  }

  edit(): void {
    this.#edits++
  }

  /** The state goes on from what lies in the directory. */
  follow(current: Entry | null): void {
    this.base = current?.id ?? null
    this.#content = current?.checksum ?? null
  }

  /** The state was replaced. Whatever is not the save that counts has yet to be saved. */
  load(entry: Entry, base: string | null): void {
    this.base = base
    this.#content = entry.checksum
    if (entry.id === base) this.#savedEdits = this.#edits
    else this.#edits++
  }

  /** So many edits are saved. */
  save(edits: number): void {
    this.#savedEdits = edits
  }

  /**
   * Whether this save is of another's making. A page that goes away may still commit what it also left in the
   * journal: that is ours.
   */
  isBehind(current: Entry | null): boolean {
    if (current === null || current.id === this.base) return false
    if (current.checksum !== this.#content) return true
    this.base = current.id
    return false
  }
}
