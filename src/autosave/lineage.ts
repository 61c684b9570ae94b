import type { Entry } from './save-file.ts'

/** What the state in memory is made from, and whether it has been edited since. */
export class Lineage {
  /** The save that counted when the state was loaded or saved last. */
  base: string | null = null
  /** Checksums of what was loaded or saved last, and of what is being saved. */
  #ours = new Set<string>()
  #edits = 0
  #savedEdits = 0

  get edits(): number {
    return this.#edits
  }

  get isUnsaved(): boolean {
    return this.#edits !== this.#savedEdits
  }

  get ours(): readonly string[] {
    return [...this.#ours]
  }

  edit(): void {
    this.#edits++
  }

  /** The state goes on from what lies in the directory. */
  follow(current: Entry | null): void {
    this.base = current?.id ?? null
    this.#ours = new Set(current ? [current.checksum] : [])
  }

  /**
   * The state was replaced. Whatever is not the save that counts has yet to be saved. `listed` is the one that counted
   * when this was found; a later one is our own.
   */
  load(entry: Entry, listed: string | null, ours: readonly string[]): void {
    if (listed !== null && listed > (this.base ?? '')) this.base = listed
    this.#ours = new Set([entry.checksum, ...ours])
    // An edit in any case: a save that is under way has what was there before.
    this.#edits++
    if (entry.id === this.base) this.#savedEdits = this.#edits
  }

  /** This is being saved: whoever finds it finds a save of ours. */
  write(checksum: string): void {
    this.#ours.add(checksum)
  }

  /** So many edits are saved. */
  save(edits: number): void {
    this.#savedEdits = edits
  }

  /** Whether this save is of another's making. A page that goes away may still commit what it had begun to save. */
  isBehind(current: Entry | null): boolean {
    if (current === null || current.id === this.base) return false
    if (!this.#ours.has(current.checksum)) return true
    this.base = current.id
    return false
  }
}
