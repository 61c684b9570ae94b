import type { Clock } from '../core/index.ts'
import type { LockBackend, ProjectLocks, RetryPolicyConfig } from '../project/index.ts'
import type { Directory } from './directory.ts'
import type { AutoSaveError } from './errors.ts'
import type { Journal } from './journal.ts'

export interface AutoSaveOptions<T> {
  /** The whole state to save, as JSON can carry it. Called at the last moment before it is written. */
  readonly read: () => T
  /** Who may write. */
  readonly locks: Pick<
    ProjectLocks,
    'acquireProjectLock' | 'releaseProjectLock' | 'holdsProjectLock' | 'projectLockSignal'
  >
  /** Where `project/autosave/` is made: a directory, or how to get one. Default: the origin's private files. */
  readonly directory?: Directory | (() => Directory | Promise<Directory>)
  /** A save starts so many milliseconds after the last edit. Default 500. */
  readonly debounce?: number
  /** More edits or a busy page put a save off by at most so many milliseconds more. Default 2000. */
  readonly idle?: number
  /** How many saves are kept, the current one included. Default 20. */
  readonly generations?: number
  /** How many bytes the saves may take together; the current one always stays. Default 50 MiB. */
  readonly maxBytes?: number
  /**
   * `session` keeps the lock from the first edit until `dispose`; a tab that cannot have it is read-only and stands
   * in line. `save` takes it for each save alone, and checks that nobody saved in between. Default `session`.
   */
  readonly hold?: 'session' | 'save'
  /** Asks for the lock at once instead of at the first edit. Only for `session`. Default false. */
  readonly eager?: boolean
  /** Milliseconds to wait for the lock before read-only. Default: as `retry` says. */
  readonly wait?: number
  /** How often the lock is asked for before read-only. Default: five times. */
  readonly retry?: Partial<RetryPolicyConfig>
  /** Where edits are kept that a closing page cannot save any more. Default: `localStorage`; `false`: nowhere. */
  readonly journal?: Journal | false
  readonly clock?: Clock
  /** The first listener; more by `subscribe`. */
  readonly onEvent?: AutoSaveListener
}

export type AutoSavePhase =
  /** Disposed. */
  | 'disabled'
  | 'idle'
  | 'debouncing'
  | 'awaiting-lock'
  | 'writing'
  | 'committing'
  /** Old generations go. */
  | 'gc'
  /** A write failed and is tried again at `retryAt`. */
  | 'backoff'
  | 'read-only'
  | 'error'

export type ReadOnlyReason =
  /** Another holds the lock. */
  | 'held'
  /** The lock was ours and is no more. */
  | 'lost'
  /** Another saved since this state was loaded. */
  | 'conflict'
  /** The browser refuses access to the file of the lock. */
  | 'denied'
  /** This browser has nothing to lock with. */
  | 'unsupported'

/** What AutoSave is doing now. The same object until something changes. */
export interface AutoSaveSnapshot {
  readonly phase: AutoSavePhase
  /** There are edits that are in memory alone. */
  readonly unsaved: boolean
  /** When the last save was committed, milliseconds since 1970; `null` before the first. */
  readonly savedAt: number | null
  /** What the lock is made of while it is held; `null` while it is not. */
  readonly backend: LockBackend | null
  /** What the lock of the last save was made of; `null` before the first. */
  readonly savedBy: LockBackend | null
  readonly readOnly: ReadOnlyReason | null
  /** Stands in line for the lock: nobody has to do anything. */
  readonly inLine: boolean
  /** The directory holds a newer save than the state in memory is made from. */
  readonly stale: boolean
  readonly error: AutoSaveError | null
  /** When the next attempt is due, milliseconds since 1970. */
  readonly retryAt: number | null
}

/** A save, newest first in every list. */
export interface Generation {
  /** When it was saved, as ISO 8601; also its name. */
  readonly id: string
  readonly savedAt: number
  readonly bytes: number
  readonly current: boolean
}

/** Something that was read and verified. */
export interface Recoverable<T> {
  readonly id: string
  /** `journal`: edits that were never saved, because the page went away before. */
  readonly source: 'journal' | 'current' | 'history'
  readonly savedAt: number
  readonly bytes: number
  /**
   * Reads it. From then on AutoSave takes your state as made from it: put it into your state before you return to
   * the event loop. What is not the current save is unsaved, and will be saved.
   */
  load(): Promise<T>
}

export interface AutoSave<T> extends AsyncDisposable {
  /** Tells that the state has changed. Cheap: call it on every edit. */
  changed(): void
  snapshot(): AutoSaveSnapshot
  /** Listens to what happens; every change of the snapshot is an event. Returns how to stop. */
  subscribe(listener: AutoSaveListener): () => void
  /**
   * Saves now what is unsaved, and resolves when that has ended, well or not: the snapshot says. `overwrite` saves
   * over what another saved in between; theirs stays in the history.
   */
  flushNow(options?: { readonly overwrite?: boolean }): Promise<AutoSaveSnapshot>
  /**
   * Lists what can be recovered and was verified, best first: edits from the journal that continue the current save,
   * the current save, then the rest by time. `limit` ends the search early.
   */
  restore(options?: { readonly limit?: number }): Promise<readonly Recoverable<T>[]>
  /** Lists the saves, newest first, without reading them. */
  history(): Promise<readonly Generation[]>
  /** Saves what is unsaved if it may, else leaves it in the journal; then releases the lock and stops. */
  dispose(): Promise<void>
}

export type AutoSaveOperation = 'acquire' | 'write' | 'collect' | 'journal'

interface EventBase {
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Everything that AutoSave tells its listeners, in order. No event holds what the user wrote. */
export type AutoSaveEvent = EventBase &
  (
    | {
        readonly type: 'autosave:state'
        readonly from: AutoSavePhase
        readonly phase: AutoSavePhase
        readonly unsaved: boolean
      }
    | {
        readonly type: 'autosave:saved'
        readonly bytes: number
        /** From the moment the lock was there until the commit. */
        readonly tookMs: number
        readonly backend: LockBackend
      }
    | { readonly type: 'autosave:retry'; readonly attempt: number; readonly delayMs: number }
    | { readonly type: 'autosave:collected'; readonly removed: number }
    | { readonly type: 'autosave:journaled'; readonly bytes: number }
    | { readonly type: 'autosave:restored'; readonly source: Recoverable<unknown>['source'] }
    | { readonly type: 'autosave:readonly-entered'; readonly reason: ReadOnlyReason }
    | { readonly type: 'autosave:readonly-left' }
    | {
        readonly type: 'autosave:error'
        readonly operation: AutoSaveOperation
        readonly code: AutoSaveError['code']
        readonly retryable: boolean
        readonly error: AutoSaveError
      }
  )

export type AutoSaveListener = (event: AutoSaveEvent) => void
