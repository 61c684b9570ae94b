import type { SaveInfo } from './save-file.ts'

/** Knows which save the state in memory is based on, and whether the state was edited since. */
export class EditTracker {
  /** The id of the save that was current when the state was last loaded or saved. */
  base: string | null = null
  /** The id of the newest save that another tab has announced. */
  announced = ''
  /** Checksums of the state that was last loaded or saved, and of the state that is being saved. */
  #own = new Set<string>()
  #edits = 0
  #savedEdits = 0

  get edits(): number {
    return this.#edits
  }

  get isUnsaved(): boolean {
    return this.#edits !== this.#savedEdits
  }

  get isOutdated(): boolean {
    return this.announced > (this.base ?? '')
  }

  get ownChecksums(): readonly string[] {
    return [...this.#own]
  }

  onEdit(): void {
    this.#edits++
  }

  /** The state in memory counts as based on the current save. */
  setBase(current: SaveInfo | null): void {
    this.base = current?.id ?? null
    this.#own = new Set(current ? [current.checksum] : [])
  }

  /**
   * The state was replaced by `save`. Unless that is the current save, the state counts as unsaved. `listed` is the
   * save that was current when `save` was listed. If another save is current by now, this tab has written it.
   */
  onLoad(save: SaveInfo, listed: string | null, ownChecksums: readonly string[]): void {
    if (listed !== null && listed > (this.base ?? '')) this.base = listed
    this.#own = new Set([save.checksum, ...ownChecksums])
    // Always an edit, because a save under way contains the previous state.
    this.#edits++
    if (save.id === this.base) this.#savedEdits = this.#edits
  }

  /** A state with this checksum is about to be saved. A tab that finds it later has found a save of this tab. */
  onSaving(checksum: string): void {
    this.#own.add(checksum)
  }

  /** The first `edits` edits are saved. */
  onSaved(edits: number): void {
    this.#savedEdits = edits
  }

  /**
   * Whether another tab made the current save. A page that is being closed may still commit a save that it had begun,
   * so a save with an own checksum is not a conflict.
   */
  isBehind(current: SaveInfo | null): boolean {
    if (current === null || current.id === this.base) return false
    if (!this.#own.has(current.checksum)) return true
    this.base = current.id
    return false
  }
}
