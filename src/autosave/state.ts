/**
 * The phases of AutoSave as a pure reducer:
 *
 *     idle → debouncing → awaiting-lock → writing → committing → gc → idle
 *                              │              └────────┴─→ backoff → awaiting-lock, or error
 *                              └─→ read-only → debouncing, when this tab gets the lock
 *
 * An action that does not fit the phase changes nothing, because an answer may come too late. An edit does not end
 * `read-only`, and nothing ends `disabled`.
 */
import type { LockBackend } from '../project/index.ts'
import type { AutoSaveError } from './errors.ts'
import type { AutoSavePhase, AutoSaveState, ReadOnlyReason } from './types.ts'

export type Action =
  | { readonly type: 'edited' }
  /** It is time to save. */
  | { readonly type: 'due' }
  /** `stale`: another tab has saved since the state in memory was loaded. */
  | {
      readonly type: 'granted'
      readonly backend: LockBackend
      readonly stale: boolean
      readonly unsaved: boolean
    }
  | { readonly type: 'writing' }
  | { readonly type: 'written' }
  | {
      readonly type: 'committed'
      readonly at: number
      readonly by: LockBackend
      readonly unsaved: boolean
    }
  /** There was nothing to save, or the old saves have been removed. */
  | { readonly type: 'finished'; readonly unsaved: boolean }
  | { readonly type: 'failed'; readonly error: AutoSaveError; readonly retryAt: number | null }
  | {
      readonly type: 'locked-out'
      readonly reason: ReadOnlyReason
      readonly error: AutoSaveError
      readonly inLine: boolean
    }
  | { readonly type: 'released' }
  /** The user wants to edit here. */
  | { readonly type: 'taking-over'; readonly isOn: boolean }
  /** Another tab saved. */
  | { readonly type: 'outdated' }
  /** The state in memory is now based on the current save. */
  | { readonly type: 'loaded'; readonly savedAt: number | null; readonly unsaved: boolean }
  /** The saves were searched for the best one that can be restored. */
  | { readonly type: 'searched'; readonly skipped: AutoSaveState['skipped'] }
  | { readonly type: 'closed' }

/** Before anything has happened. */
export const INITIAL_AUTOSAVE_STATE: AutoSaveState = {
  phase: 'idle',
  unsaved: false,
  savedAt: null,
  backend: null,
  savedBy: null,
  readOnly: null,
  inLine: false,
  takingOver: false,
  stale: false,
  skipped: [],
  error: null,
  retryAt: null,
}

const SAVING: readonly AutoSavePhase[] = ['awaiting-lock', 'writing', 'committing', 'gc']

export function reduce(state: AutoSaveState, action: Action): AutoSaveState {
  const { phase } = state
  if (phase === 'disabled') return state
  switch (action.type) {
    case 'edited': {
      const startsSave = phase === 'idle' || phase === 'error'
      return state.unsaved && !startsSave
        ? state
        : { ...state, unsaved: true, phase: startsSave ? 'debouncing' : phase }
    }
    case 'due':
      return maySave(state) ? { ...state, phase: 'awaiting-lock', retryAt: null } : state
    case 'granted':
      return granted(state, action)
    case 'writing':
      return phase === 'awaiting-lock' ? { ...state, phase: 'writing' } : state
    case 'written':
      return phase === 'writing' ? { ...state, phase: 'committing' } : state
    case 'committed': {
      const { at: savedAt, by: savedBy, unsaved } = action
      return phase === 'committing'
        ? { ...state, phase: 'gc', savedAt, savedBy, unsaved, stale: false, error: null }
        : state
    }
    case 'finished':
      return SAVING.includes(phase) ? writable({ ...state, unsaved: action.unsaved }) : state
    case 'failed': {
      const next = action.retryAt === null ? 'error' : 'backoff'
      return SAVING.includes(phase)
        ? { ...state, phase: next, error: action.error, retryAt: action.retryAt }
        : state
    }
    case 'locked-out':
      return {
        ...state,
        phase: 'read-only',
        readOnly: action.reason,
        inLine: action.inLine,
        error: action.error,
        backend: action.reason === 'conflict' ? state.backend : null,
        stale: state.stale || action.reason === 'conflict',
        retryAt: null,
      }
    case 'taking-over':
      return { ...state, takingOver: action.isOn }
    case 'outdated':
      return state.stale ? state : { ...state, stale: true }
    case 'released':
      return state.backend ? { ...state, backend: null } : state
    case 'loaded':
      return loaded(state, action)
    case 'searched':
      return state.skipped.length + action.skipped.length > 0 ? { ...state, skipped: action.skipped } : state
    case 'closed':
      return { ...state, phase: 'disabled', backend: null, inLine: false, takingOver: false, retryAt: null }
  }
}

/** Whether a save may start: not during a save, in the queue, or before the user has resolved a conflict. */
export function maySave({ phase, inLine, readOnly }: AutoSaveState): boolean {
  if (phase === 'read-only') return !inLine && (readOnly === 'held' || readOnly === 'denied')
  return phase === 'idle' || phase === 'debouncing' || phase === 'backoff' || phase === 'error'
}

/**
 * Whether `takeover` can help: another tab holds the lock.
 *
 * @example
 * editHere.hidden = !canTakeover(autosave.state)
 */
export function canTakeover({ phase, readOnly, takingOver }: AutoSaveState): boolean {
  return phase === 'read-only' && (readOnly === 'held' || readOnly === 'lost') && !takingOver
}

/**
 * Whether `flush` may succeed after a failed save.
 *
 * @example
 * saveAgain.disabled = !canRetry(autosave.state)
 */
export function canRetry(state: AutoSaveState): boolean {
  const { phase, error } = state
  const failed = phase === 'backoff' || phase === 'error' || phase === 'read-only'
  const isHopeless = error?.code === 'read-failed' || error?.code === 'other-format'
  return failed && maySave(state) && !isHopeless
}

function granted(state: AutoSaveState, action: Action & { type: 'granted' }): AutoSaveState {
  const { backend, stale, unsaved } = action
  const held = { ...state, backend, stale, unsaved, inLine: false, takingOver: false }
  return state.phase === 'read-only' ? writable(held) : held
}

function loaded(state: AutoSaveState, { savedAt, unsaved }: Action & { type: 'loaded' }): AutoSaveState {
  const next = { ...state, savedAt, unsaved, stale: false }
  const isLockedOut = state.phase === 'read-only' && state.readOnly !== 'conflict'
  return isLockedOut || SAVING.includes(state.phase) ? next : writable(next)
}

function writable(state: AutoSaveState): AutoSaveState {
  const phase = state.unsaved ? 'debouncing' : 'idle'
  return { ...state, phase, readOnly: null, error: null, retryAt: null }
}
