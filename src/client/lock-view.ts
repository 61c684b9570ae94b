import type { Clock } from '../base/clock.ts'
import { createEmitter } from '../base/emitter.ts'
import type { ApiResponse, Body } from './api.ts'
import {
  actionOfEvent,
  actionsOfResponse,
  hasShape,
  type RoomTerms,
  TERMS,
  tokenOf,
} from './lock-messages.ts'
import {
  type DocumentLockAction,
  type DocumentLockState,
  INITIAL_STATE,
  type Independent,
  reduce,
} from './lock-state.ts'

/** What a tab knows about a document's lock. */
export interface LockView {
  readonly state: DocumentLockState
  /** `null` until the server has answered. */
  readonly terms: RoomTerms | null
  subscribe(listener: () => void): () => void
  dispatch(action: DocumentLockAction): void
  /** Changes fields that affect no others. */
  change(change: Partial<Independent>): void
  /** Call it before a request is sent. The result takes the response. */
  expectResponse(): (response: ApiResponse) => void
  onEvent(event: string, data: Body): void
  /** Listeners hear of no later change. */
  close(): void
}

/** Data flows one way: responses and events become actions, the reducer makes the next state, listeners are told. */
export function createLockView(clock: Clock): LockView {
  const changes = createEmitter<void>()
  let state = INITIAL_STATE
  let terms: RoomTerms | null = null
  let eventCount = 0
  /** The highest token whose end was reported by an event. */
  let endedToken = 0
  let isClosed = false

  return {
    get state() {
      return state
    },
    get terms() {
      return terms
    },
    subscribe: changes.subscribe,
    dispatch,
    change: (change) => dispatch({ type: 'changed', change }),

    expectResponse() {
      const countBefore = eventCount
      return (response) => {
        if (hasShape(response.body, TERMS)) terms = response.body
        // Somebody has signed in again, or the address leads to the server now.
        const isBack = state.phase === 'signed-out' || (state.phase === 'error' && state.me === null)
        if (isBack && !state.held && response.status === 200) dispatch({ type: 'refused' })
        // An event that arrived in between may be newer than what the response says about holder and queue.
        const isLatest = countBefore === eventCount
        for (const action of actionsOfResponse(response, state, clock.now()))
          if (isCurrent(action, isLatest)) dispatch(action)
      }
    },

    onEvent(event, data) {
      eventCount++
      const action = actionOfEvent(event, data, state, clock.now())
      if (action?.type === 'holder' && !action.holder) endedToken = Math.max(endedToken, tokenOf(data))
      if (action) dispatch(action)
    },

    close() {
      isClosed = true
    },
  }

  function dispatch(action: DocumentLockAction): void {
    state = reduce(state, action)
    if (!isClosed) changes.emit()
  }

  function isCurrent(action: DocumentLockAction, isLatest: boolean): boolean {
    if (action.type === 'holder' && action.holder) {
      const { token } = action.holder
      return token >= (state.holder?.token ?? 0) && (isLatest || token > endedToken)
    }
    return action.type === 'changed' || isLatest
  }
}
