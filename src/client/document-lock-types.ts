import type { Duration } from '../base/duration.ts'
import type { DocumentLockState } from './lock-state.ts'
import type { AcquireDocumentOptions } from './options.ts'

export interface SavedDocument {
  readonly content: unknown
  /** The token of the save; `null` if nothing was saved yet. */
  readonly token: number | null
  readonly savedAt: string | null
}

export interface DocumentLock extends AsyncDisposable {
  /** The address of the server, with a slash at its end. */
  readonly url: string
  readonly roomId: string
  /** What the page shows now: a new object after each change. */
  readonly state: DocumentLockState
  /** Called after every change of the state. Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void
  /**
   * Requests the lock. Resolves with whether this tab has it; if not, the state says why. After every grant, load
   * before you continue editing.
   */
  acquire(options?: AcquireDocumentOptions): Promise<boolean>
  /** Releases the lock, or leaves the queue, unless another lock object of this page uses it too. */
  release(): Promise<void>
  /**
   * Reads what was last saved. Rejects with `store-failed` if it cannot be read. If `cause.error` is
   * `content_unreadable`, the stored content is damaged, and a save of the holder replaces it.
   *
   * @throws `too-many-requests`
   */
  load(): Promise<SavedDocument>
  /**
   * Saves with the token of the latest grant. Rejects with `stale-token` if another tab had the lock since:
   * then nothing is saved, and nothing of the other tab is overwritten. A request that the network held back never
   * replaces a later one. If a later call of this page was faster, its content stays and this call resolves too. If
   * another page with the same `clientId` has saved at the same time, it rejects with `stale-save`. After
   * `release` it rejects with `lease-lost`, after `close` with `closed`.
   *
   * @throws `lease-lost`, `stale-token`, `stale-save`, `too-large`, `too-many-requests`
   */
  save(content: unknown): Promise<void>
  /**
   * Runs `work`, such as a last save, before this object gives up a lock that it holds: in `release`, `close` and
   * `answer(true)`, which wait for it for at most 10 s, and when the page is left. Until then nobody else gets the
   * lock. Returns a function that ends this.
   */
  beforeRelease(work: () => unknown): () => void
  /** Changes the name that others see: at once while this tab edits, otherwise with the next request for the lock. */
  rename(name: string | undefined): void
  /** Takes the lock from its holder, who has a few seconds to save. Resolves with whether this tab has it. */
  takeover(): Promise<boolean>
  /** Asks the holder for a handoff. Resolves with whether this tab has the lock, after the answer or its time limit. */
  requestHandoff(): Promise<boolean>
  /** @deprecated Use `takeover`. */
  takeOver(): Promise<boolean>
  /** @deprecated Use `requestHandoff`. */
  requestHandOver(): Promise<boolean>
  /**
   * Answers the request in the state. Save first: with `true` the other tab gets the lock. With a time, such as `'2m'`
   * (at most 10 minutes), the other one is told to wait, and this tab is asked again after it. A takeover cannot be
   * declined or postponed: then it rejects with `store-failed`.
   *
   * @throws `too-many-requests`
   */
  answer(answer: boolean | Duration): Promise<void>
  /** Counts as input of the user for `idleAfter`. Input in the page itself counts by itself. */
  touch(): void
  /** Releases the lock and ends all listening. */
  close(): Promise<void>
}
