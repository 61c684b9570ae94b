import type { Clock } from '../core/index.ts'
import type { DocumentLockState } from './state.ts'

export interface DocumentLockOptions {
  /** Where the server is. Default: where the page comes from. */
  readonly url?: string
  readonly roomId: string
  /** What others see of who edits. */
  readonly name?: string
  /** Sent with every request, such as a bearer token. */
  readonly headers?: Readonly<Record<string, string>>
  readonly clock?: Clock
}

export interface SavedDocument {
  readonly content: unknown
  /** Of the save; `null` where nothing was saved yet. */
  readonly token: number | null
  readonly savedAt: string | null
}

export interface DocumentLock extends AsyncDisposable {
  /** What the page shows now: another object after each change. */
  readonly state: DocumentLockState
  /** Called after every change of the state. Returns how to stop. */
  subscribe(listener: () => void): () => void
  /**
   * Asks for the lock, and waits in line for `wait` milliseconds (default 0, `Infinity` never gives up). Resolves
   * with whether this tab has it; if not, the state says why. After every grant, load before you go on editing.
   */
  acquire(options?: { readonly wait?: number }): Promise<boolean>
  /** Gives the lock, or the place in line, back. */
  release(): Promise<void>
  /**
   * What was last saved. Rejects with `store-failed` where it cannot be read; then `cause.error` is
   * `content_unreadable`, and a save of the holder's replaces it.
   */
  load(): Promise<SavedDocument>
  /**
   * Saves with the token of the latest grant. Rejects with `stale-token` when another has had the lock since:
   * the content is not saved then, and nothing of the other's is overwritten.
   */
  save(content: unknown): Promise<void>
  /** What others see from the next request on. */
  rename(name: string | undefined): void
  /** Takes the lock from its holder, who has a few seconds to save. Resolves with whether this tab has it. */
  takeOver(): Promise<boolean>
  /** Asks the holder to hand over. Resolves with whether this tab has the lock when it has answered, or not. */
  requestHandOver(): Promise<boolean>
  /** Answers the request in the state. Save first: with `true` the lock goes to the other. */
  answer(granted: boolean): Promise<void>
  /** Gives everything up and listens no more. */
  close(): Promise<void>
}
