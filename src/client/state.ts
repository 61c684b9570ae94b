import type { LeaseError } from '../core/index.ts'

/**
 * What a page shows. The holder is whoever the server last told of; what this tab itself has is `phase`:
 *
 *     idle ⇄ read-only        nobody holds it, another holds it
 *     acquiring → waiting → held → lost
 *     error                   the server refuses, or cannot be asked: `error.retryable` says whether to try again
 */
export type DocumentLockPhase = 'idle' | 'acquiring' | 'waiting' | 'held' | 'read-only' | 'lost' | 'error'

/** One tab of one session, as all may see it. */
export interface Person {
  readonly sessionId: string
  readonly clientId: string | null
  readonly name: string | null
}

export interface DocumentHolder extends Person {
  readonly token: number
  /** When it was locked, in milliseconds since 1970. */
  readonly since: number
  /** When it ends unless it is renewed, by this machine's clock. */
  readonly expiresAt: number
  readonly isMe: boolean
}

/** Somebody wants the lock that this tab holds. */
export interface HandOverRequest {
  readonly id: string
  readonly name: string | null
  /** `take-over`: it goes when the time is up. `request`: one may decline. */
  readonly kind: 'take-over' | 'request'
  /** Until when to answer or save, by this machine's clock. */
  readonly until: number
}

/** `taking-over` and `asking`: not decided yet. `failed`: the server could not be asked, or does not allow it. */
export type Demand = 'taking-over' | 'asking' | 'declined' | 'unanswered' | 'failed'

export interface DocumentLockState {
  readonly phase: DocumentLockPhase
  /** This tab, once the server has told. */
  readonly me: Person | null
  readonly holder: DocumentHolder | null
  /** Of this tab's latest grant; saves carry it. */
  readonly token: number | null
  /** How many stand before this tab, while it waits. */
  readonly place: number | null
  /** How many wait in line. */
  readonly waiting: number
  readonly request: HandOverRequest | null
  /** What became of this tab's own demand for the lock of another. */
  readonly demand: Demand | null
  /** When anybody last saved, by the server's clock (ISO 8601), as far as this tab has heard. */
  readonly savedAt: string | null
  /** Hears the server's events. */
  readonly connected: boolean
  readonly error: LeaseError | null
}

export type DocumentLockAction =
  | { readonly type: 'asked-for' | 'queued' | 'refused' | 'released' }
  | { readonly type: 'granted'; readonly token: number }
  | { readonly type: 'lost'; readonly error: LeaseError | null }
  | { readonly type: 'failed'; readonly error: LeaseError }
  | { readonly type: 'holder'; readonly holder: DocumentHolder | null }
  | { readonly type: 'line'; readonly waiting: number; readonly place: number | null }
  | { readonly type: 'news'; readonly news: Partial<News> }

/** What changes nothing else. */
type News = Pick<DocumentLockState, 'me' | 'request' | 'demand' | 'savedAt' | 'connected'>

export const INITIAL_STATE: DocumentLockState = {
  phase: 'idle',
  me: null,
  holder: null,
  token: null,
  place: null,
  waiting: 0,
  request: null,
  demand: null,
  savedAt: null,
  connected: false,
  error: null,
}

export function reduce(state: DocumentLockState, action: DocumentLockAction): DocumentLockState {
  switch (action.type) {
    case 'asked-for':
      return { ...state, phase: 'acquiring', place: null, error: null }
    case 'queued':
      return { ...state, phase: 'waiting', place: null, error: null }
    case 'granted':
      return { ...state, phase: 'held', token: action.token, place: null, demand: null, error: null }
    case 'lost':
      return { ...state, phase: 'lost', request: null, error: action.error }
    case 'failed':
      return { ...state, phase: 'error', place: null, request: null, error: action.error }
    case 'refused':
    case 'released':
      return watching({ ...state, phase: 'idle', place: null, request: null, error: null })
    case 'holder': {
      // What the last holder has said is not for the next one.
      const isSame = action.holder?.token === state.holder?.token
      return watching({ ...state, holder: action.holder, demand: isSame ? state.demand : undecided(state) })
    }
    case 'line':
      return { ...state, waiting: action.waiting, place: state.phase === 'waiting' ? action.place : null }
    case 'news':
      return { ...state, ...action.news }
  }
}

/** While this tab wants nothing, the phase follows who holds the document. */
function watching(state: DocumentLockState): DocumentLockState {
  if (state.phase !== 'idle' && state.phase !== 'read-only') return state
  return { ...state, phase: state.holder && !state.holder.isMe ? 'read-only' : 'idle' }
}

function undecided({ demand }: DocumentLockState): Demand | null {
  return demand === 'asking' || demand === 'taking-over' ? demand : null
}
