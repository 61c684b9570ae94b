import type { LockBackend, ProjectLocks } from '../project/index.ts'
import type { AutoSaveError } from './errors.ts'
import type { FlushOptions, RestoreOptions } from './options.ts'

/** What AutoSave needs of `ProjectLocks`. */
export interface AutoSaveLocks
  extends Pick<
      ProjectLocks,
      'acquireProjectLock' | 'releaseProjectLock' | 'holdsProjectLock' | 'projectLockSignal'
    >,
    Partial<Pick<ProjectLocks, 'namespace'>> {}

/** One of the two says which project it is. */
export type AutoSaveProject =
  | { readonly namespace: string; readonly locks?: undefined }
  | { readonly locks: AutoSaveLocks; readonly namespace?: undefined }

export type AutoSavePhase =
  /** Closed. */
  | 'disabled'
  | 'idle'
  | 'debouncing'
  | 'awaiting-lock'
  | 'writing'
  | 'committing'
  /** Old saves are removed. */
  | 'gc'
  /** A write failed. The next attempt is at `retryAt`. */
  | 'backoff'
  | 'read-only'
  | 'error'

export type ReadOnlyReason =
  /** Another tab holds the lock. */
  | 'held'
  /** This tab has lost the lock. */
  | 'lost'
  /** Another tab saved, or was closed with unsaved edits, after this state was loaded. */
  | 'conflict'
  /** The browser refuses access to the lock file. */
  | 'denied'
  /** This browser offers no kind of lock. */
  | 'unsupported'

/** @deprecated Use `AutoSaveState`. */
export type AutoSaveSnapshot = AutoSaveState

/** The state of AutoSave. The same object until something changes. */
export interface AutoSaveState {
  readonly phase: AutoSavePhase
  /** Some edits are only in memory. */
  readonly unsaved: boolean
  /** When the last save was committed, milliseconds since 1970; `null` before the first. */
  readonly savedAt: number | null
  /** The kind of lock that is held; `null`: the lock is not held. */
  readonly backend: LockBackend | null
  /** The kind of lock of the last save; `null` before the first. */
  readonly savedBy: LockBackend | null
  readonly readOnly: ReadOnlyReason | null
  /** This tab waits in the queue for the lock. The user need not do anything. */
  readonly inLine: boolean
  /** This tab has asked the other one for the lock, and takes it within five seconds. */
  readonly takingOver: boolean
  /** Another tab has left a newer version than the state in memory: a save, or edits in the journal of a closed tab. */
  readonly stale: boolean
  /** Saves that are newer than the best one that `restore` found, but cannot be verified. */
  readonly skipped: readonly SkippedSave[]
  readonly error: AutoSaveError | null
  /** When the next attempt is due, milliseconds since 1970. */
  readonly retryAt: number | null
}

/** A save. Lists have the newest first. */
export interface Generation {
  /** The time of the save as ISO 8601. */
  readonly id: string
  readonly savedAt: number
  readonly bytes: number
  readonly current: boolean
}

/** A state that was read and verified. */
export interface Recoverable<T> {
  readonly id: string
  /** `journal`: edits that were not saved before the page was closed. */
  readonly source: 'journal' | 'current' | 'history'
  readonly savedAt: number
  readonly bytes: number
  /** Reads the state for a preview or a comparison. Nothing else changes. */
  read(): Promise<T>
  /**
   * Reads the state. From then on your state counts as based on it, so replace your state before you return to the
   * event loop. Unless it is the current save, it counts as unsaved and will be saved.
   */
  load(): Promise<T>
}

/** A save that cannot be recovered. */
export interface SkippedSave {
  readonly id: string
  readonly savedAt: number
  /** `unreadable`: it may be readable later. */
  readonly reason: 'damaged' | 'missing' | 'unreadable'
}

/** What can be recovered, best first. */
export interface Recovery<T> extends ReadonlyArray<Recoverable<T>> {
  /** Saves that were found and cannot be verified, newest first. */
  readonly skipped: readonly SkippedSave[]
}

export interface AutoSave<T> extends AsyncDisposable {
  /** Call it after every edit. It is cheap. */
  changed(): void
  readonly state: AutoSaveState
  /** @deprecated Use `state`. */
  snapshot(): AutoSaveState
  /** Listens to events. Every change of `state` is one. Returns a function that ends the subscription. */
  subscribe(listener: AutoSaveListener): () => void
  /**
   * Saves unsaved edits now. Resolves with the state after the save, whether it succeeded or failed. `overwrite`
   * replaces what another tab saved in between. That save stays in the history. Rejects with `load-failed` if
   * `overwrite` cannot read it.
   *
   * @throws `load-failed`
   */
  flush(options?: FlushOptions): Promise<AutoSaveState>
  /** @deprecated Use `flush`. */
  flushNow(options?: FlushOptions): Promise<AutoSaveState>
  /**
   * Lists what can be recovered, each verified, best first: journals based on the current save, the current save, then
   * the rest by time. `skipped` lists the saves that could not be verified. Rejects with `load-failed` if none of the
   * saves can be read, and with `other-format` if a newer version of Holdfast has saved here.
   *
   * @throws `load-failed`, `other-format`
   */
  restore(options?: RestoreOptions): Promise<Recovery<T>>
  /**
   * Edits here instead of in the tab that holds the lock. That tab saves and becomes read-only. If it does not answer
   * within five seconds, the lock is taken from it, and what it could not save stays in that tab. Does nothing unless
   * another tab holds the lock. Resolves with the state afterwards.
   */
  takeover(): Promise<AutoSaveState>
  /** @deprecated Use `takeover`. */
  takeOver(): Promise<AutoSaveState>
  /**
   * Lists the saves, newest first, without verifying them. Rejects with `load-failed`.
   *
   * @throws `load-failed`
   */
  history(): Promise<readonly Generation[]>
  /** Saves unsaved edits, or leaves them in the journal if it cannot. Then releases the lock and stops. */
  close(): Promise<void>
  /** @deprecated Use `close`. */
  dispose(): Promise<void>
}

export type AutoSaveOperation = 'acquire' | 'write' | 'collect' | 'journal' | 'restore'

export interface AutoSaveEventBase {
  /** Milliseconds since 1970. Never goes back from one event to the next. */
  readonly at: number
}

/** The events of AutoSave, delivered in order. No event contains what the user wrote. */
export type AutoSaveEvent = AutoSaveEventBase &
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
        /** From the grant of the lock to the commit. */
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
