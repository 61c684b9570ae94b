import { type Clock, risingTime } from '../base/clock.ts'
import { createEmitter } from '../base/emitter.ts'
import type { AutoSaveError } from './errors.ts'
import { type Action, INITIAL_AUTOSAVE_STATE, reduce } from './state.ts'
import type { AutoSaveEvent, AutoSaveOperation, AutoSavePhase } from './types.ts'

type WithoutTime<E> = E extends unknown ? Omit<E, 'at'> : never

export type StateStore = ReturnType<typeof createStateStore>

/** The state of one AutoSave and its events. Every change of the state is an event. */
export function createStateStore(
  clock: Clock,
  onPhaseChange: (phase: AutoSavePhase, before: AutoSavePhase) => void,
) {
  let state = INITIAL_AUTOSAVE_STATE
  const events = createEmitter<AutoSaveEvent>()
  const at = risingTime(clock)
  return {
    get state() {
      return state
    },
    subscribe: events.subscribe,
    dispatch,
    emit,
    emitError,
  }

  function dispatch(action: Action): void {
    const before = state
    state = reduce(state, action)
    if (state === before) return
    const { phase, unsaved, readOnly } = state
    if (phase !== before.phase) onPhaseChange(phase, before.phase)
    emit({ type: 'autosave:state', from: before.phase, phase, unsaved })
    if (readOnly && readOnly !== before.readOnly)
      emit({ type: 'autosave:readonly-entered', reason: readOnly })
    if (before.readOnly && !readOnly) emit({ type: 'autosave:readonly-left' })
  }

  function emit(event: WithoutTime<AutoSaveEvent>): void {
    events.emit({ at: at(), ...event })
  }

  function emitError(operation: AutoSaveOperation, error: AutoSaveError): void {
    const { code, retryable } = error
    emit({ type: 'autosave:error', operation, code, retryable, error })
  }
}
