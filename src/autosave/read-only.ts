import { AutoSaveError, asLockFailure } from './errors.ts'
import type { StateStore } from './state-store.ts'
import type { ReadOnlyReason } from './types.ts'

export interface ReadOnlyOptions {
  readonly store: StateStore
  readonly isClosed: () => boolean
  readonly joinQueue: () => void
  /** Another tab may write from now on. */
  readonly forgetContents: () => void
  /** The lock was lost, but may be acquired again. */
  readonly saveAgain: () => void
}

/** What follows when this tab may not write, or may no longer. */
export function createReadOnly({ store, isClosed, joinQueue, forgetContents, saveAgain }: ReadOnlyOptions) {
  const { dispatch, emitError } = store

  return {
    onConflict(): void {
      enter('conflict', new AutoSaveError('conflict', 'another tab has left a newer version'), false)
    },

    onRefused(cause: unknown): void {
      if (isClosed()) return
      const { reason, error } = asLockFailure(cause)
      emitError('acquire', error)
      // A second refusal means that there is no queue to wait in.
      enter(reason, error, reason === 'held' && store.state.phase !== 'read-only')
    },

    onLost(cause: Error & { readonly retryable?: boolean }): void {
      forgetContents()
      if (cause?.retryable) {
        dispatch({ type: 'released' })
        saveAgain()
      } else enter('lost', new AutoSaveError('lock-unavailable', 'the project lock was lost', cause), true)
    },

    onHandedOver(): void {
      forgetContents()
      enter('lost', new AutoSaveError('lock-unavailable', 'another tab asked for the project lock'), true)
    },
  }

  function enter(reason: ReadOnlyReason, error: AutoSaveError, inLine: boolean): void {
    dispatch({ type: 'locked-out', reason, error, inLine })
    if (inLine) joinQueue()
  }
}
