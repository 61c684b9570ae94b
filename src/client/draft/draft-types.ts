import type { LeaseError } from '../../base/errors.ts'

/**
 *     loading → saved ⇄ dirty → saving → saved
 *                 ↑       ↓        ↓
 *         takeTheirs      kept, refused, conflict      the content exists only in this browser
 *
 * - `loading`: it is not known yet what is stored.
 * - `saved`: the server has confirmed exactly this content.
 * - `dirty`, `saving`: it is saved in a moment, or now.
 * - `kept`: this tab has no lock to save with. It is saved with the next grant.
 * - `refused`: the server does not accept this content; `error` says why.
 * - `conflict`: others have changed the same parts. Choose with `takeMine`, `takeTheirs` or `merge`.
 * - `unreadable`: what is stored cannot be read. It is overwritten only by `takeMine` or `merge`.
 */
export type DraftStatus =
  | 'loading'
  | 'saved'
  | 'dirty'
  | 'saving'
  | 'kept'
  | 'refused'
  | 'conflict'
  | 'unreadable'

export interface DraftState<T> {
  readonly status: DraftStatus
  /** What the user sees and edits. In a conflict it has the separate edits of both sides already. */
  readonly content: T
  /** Rises with every change of the content. So an editor with a long text need not compare the contents. */
  readonly version: number
  /** Whether the user may write now: this tab has the lock, the content is loaded, and there is no conflict. */
  readonly isWritable: boolean
  /** Whether something exists only in this browser, not on the server. */
  readonly isUnsaved: boolean
  /** What the server has stored, as far as this tab knows and can read it. */
  readonly stored: T
  /** When it was stored (ISO 8601); `null`: nothing was saved yet. */
  readonly savedAt: string | null
  /** Whether others have saved since the version that this content was made from. */
  readonly isOutdated: boolean
  /**
   * In a conflict: `content`, but with their words in the places that both sides have changed. So the differences
   * between the two are exactly what the user has to decide. `null`: no conflict.
   */
  readonly theirs: T | null
  /** What the user gave up by `takeTheirs`, until the next edit. `bringBack` undoes it. */
  readonly dropped: T | null
  /** Why the content was refused, or why it cannot be loaded or saved now. The draft tries again by itself. */
  readonly error: LeaseError | null
}

/** What a person types in one document. */
export interface Draft<T> extends AsyncDisposable {
  /** A new object after each change. */
  readonly state: DraftState<T>
  /** Called after every change. Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void
  /**
   * The user has changed the content. A function is called only when the content is needed, at most once. So an editor
   * with a long text need not copy it for every key. It must return the content of this moment.
   */
  edit(content: T | (() => T)): void
  /** Saves now. Rejects if the server does not answer. Content that cannot be saved is kept. */
  flush(): Promise<void>
  /**
   * In a conflict: their words in the places that both sides have changed. The user's separate edits stay, and are
   * saved. Otherwise what is stored, without the user's edits. `bringBack` undoes it.
   */
  takeTheirs(): void
  /** Undoes `takeTheirs`: the conflict, or the unsaved content, is there again. */
  bringBack(): void
  /**
   * Saves `content` over the version that the user has seen as `stored`; without the lock, with the next grant. If
   * another version is stored by then, that one is merged or shown first.
   */
  takeMine(): Promise<void>
  /** The same with this content: what the user has made of both versions. */
  merge(content: T): Promise<void>
  /** Saves what can be saved, and keeps a copy of the rest. It never closes the lock. */
  close(): Promise<void>
}
