import type { LeaseError } from '../base/errors.ts'

/**
 * What a page shows. `holder` is the holder that the server last reported. `phase` is what this tab itself has or does:
 *
 *     idle ⇄ read-only        nobody holds the lock, another tab holds it
 *     acquiring → waiting → held ⇄ troubled → lost
 *     troubled                still held, but the server did not answer in time
 *     signed-out              the server does not know who this is; a lock that is held stays until it expires
 *     error                   the server refuses or does not answer: `error.retryable` says whether a retry may help
 */
export type DocumentLockPhase =
  | 'idle'
  | 'acquiring'
  | 'waiting'
  | 'held'
  | 'troubled'
  | 'signed-out'
  | 'read-only'
  | 'lost'
  | 'error'

/** One tab of one session, as everybody may see it. */
export interface Person {
  readonly sessionId: string
  readonly clientId: string | null
  readonly name: string | null
}

export interface DocumentHolder extends Person {
  readonly token: number
  /** When it was locked, in milliseconds since 1970. */
  readonly since: number
  /** When the lock expires unless it is renewed, by this machine's clock. */
  readonly expiresAt: number
  readonly isMe: boolean
}

/** Somebody wants the lock. */
export interface HandoffRequest {
  readonly id: string
  readonly name: string | null
  /** `takeover`: this tab loses the lock when the time ends. `request`: this tab may decline. */
  readonly kind: 'takeover' | 'request'
  /** The time limit to answer or save, by this machine's clock. */
  readonly until: number
  /** Another tab of this session asks. It gets the lock without a question, after the steps of `beforeRelease`. */
  readonly isOwn: boolean
  /** The waiters who were in the queue before the one who asks: the first 20 of them. */
  readonly passes: readonly Person[]
  /** Until when the holder has asked for time, by this machine's clock. Then it is asked again. */
  readonly postponedUntil: number | null
}

/** A person who has the document open, edits it or waits for it: all tabs of one session together. */
export interface Participant {
  readonly sessionId: string
  readonly name: string | null
  readonly role: 'editing' | 'waiting' | 'viewing'
  /** How many waiters are ahead, while this person waits. */
  readonly place: number | null
  readonly isMe: boolean
}

/** This tab has the lock, and there was no input for `idleAfter`, while somebody waits or asks. */
export interface IdleHolder {
  /** When it hands over, by this machine's clock. Any input before keeps the lock. */
  readonly until: number
  /** It has handed over. */
  readonly isOver: boolean
}

/**
 * `taking-over` and `asking`: not decided yet. `postponed`: the holder has asked for more time. `failed`: the server did
 * not answer, or does not allow it.
 */
export type Demand = 'taking-over' | 'asking' | 'postponed' | 'declined' | 'unanswered' | 'failed'

export interface DocumentLockState {
  readonly phase: DocumentLockPhase
  /** Whether this tab has the lock: in the phases `held` and `troubled`, and maybe in `signed-out`. */
  readonly held: boolean
  /** This tab; `null` until the server has answered. */
  readonly me: Person | null
  readonly holder: DocumentHolder | null
  /** The token of this tab's latest grant, until it is released. Saves carry it. */
  readonly token: number | null
  /** How many waiters are ahead of this tab, while it waits. */
  readonly place: number | null
  /** How many tabs wait. */
  readonly waiting: number
  /** The first tabs of the queue, the next one first. */
  readonly waiters: readonly Person[]
  /**
   * The people in view: the holder, the waiters (the next one first), and, with the option `presence`, the readers. At
   * most 100 of them.
   */
  readonly people: readonly Participant[]
  /** Somebody wants the lock that this tab holds. */
  readonly request: HandoffRequest | null
  /** Somebody who is behind this tab in the queue, or not in it, has asked the holder for the lock. */
  readonly passedBy: HandoffRequest | null
  /** The progress of this tab's own `takeover` or `requestHandoff`. */
  readonly demand: Demand | null
  /** Until when the holder has asked this tab to wait, by this machine's clock, while `demand` is `postponed`. */
  readonly postponedUntil: number | null
  /** Set with the option `idleAfter` only. */
  readonly idle: IdleHolder | null
  /** When anybody last saved, by the server's clock (ISO 8601), as far as this tab knows. `null` after a deletion. */
  readonly savedAt: string | null
  /** Rises when the content was deleted, or events may have been missed. Load again then. */
  readonly gaps: number
  /** Whether the server answers. */
  readonly connected: boolean
  readonly error: LeaseError | null
}

export type DocumentLockAction =
  | { readonly type: 'acquiring' | 'waiting' | 'refused' | 'released' | 'renewed' }
  | { readonly type: 'granted'; readonly token: number }
  | { readonly type: 'lost' | 'error' | 'troubled'; readonly error: LeaseError | null }
  | { readonly type: 'signed-out' | 'retrying'; readonly error: LeaseError }
  | { readonly type: 'holder'; readonly holder: DocumentHolder | null }
  | { readonly type: 'queue'; readonly queue?: Queue; readonly place: number | null }
  | { readonly type: 'changed'; readonly change: Partial<Independent> }

type Queue = Pick<DocumentLockState, 'waiting' | 'waiters'>

/** The fields whose change affects no other field. */
export type Independent = Pick<
  DocumentLockState,
  | 'me'
  | 'people'
  | 'request'
  | 'passedBy'
  | 'demand'
  | 'postponedUntil'
  | 'idle'
  | 'savedAt'
  | 'gaps'
  | 'connected'
  | 'error'
>

export const INITIAL_STATE: DocumentLockState = {
  phase: 'idle',
  held: false,
  me: null,
  holder: null,
  token: null,
  place: null,
  waiting: 0,
  waiters: [],
  people: [],
  request: null,
  passedBy: null,
  demand: null,
  postponedUntil: null,
  idle: null,
  savedAt: null,
  gaps: 0,
  connected: false,
  error: null,
}

export function reduce(state: DocumentLockState, action: DocumentLockAction): DocumentLockState {
  switch (action.type) {
    case 'acquiring':
    case 'waiting':
      return { ...state, phase: action.type, place: null, error: null }
    case 'granted':
      return {
        ...state,
        phase: 'held',
        held: true,
        token: action.token,
        place: null,
        demand: null,
        error: null,
      }
    case 'renewed':
      return state.held ? { ...state, phase: 'held', error: null } : state
    case 'troubled':
      return state.phase === 'held' ? { ...state, phase: 'troubled', error: action.error } : state
    case 'retrying':
      return { ...state, error: action.error }
    case 'signed-out':
      return { ...state, phase: 'signed-out', place: null, error: action.error }
    case 'lost':
    case 'error':
      return ended(state, action.type, action.error)
    case 'refused':
      return withPassivePhase(ended(state, 'idle', null))
    case 'released':
      return withPassivePhase({ ...ended(state, 'idle', null), token: null })
    case 'holder': {
      // The answer of the last holder does not apply to the next one.
      const isSame = action.holder?.token === state.holder?.token
      return withPassivePhase({
        ...state,
        holder: action.holder,
        demand: isSame ? state.demand : undecided(state),
      })
    }
    case 'queue': {
      const place = state.phase === 'waiting' ? action.place : null
      // In the queue, so the last request did not fail.
      return { ...state, ...action.queue, place, error: place === null ? state.error : null }
    }
    case 'changed':
      return { ...state, ...action.change }
  }
}

function ended(state: DocumentLockState, phase: DocumentLockPhase, error: LeaseError | null) {
  return { ...state, phase, held: false, place: null, request: null, error }
}

/** While this tab requests nothing, its phase depends on who holds the lock. */
function withPassivePhase(state: DocumentLockState): DocumentLockState {
  if (state.phase !== 'idle' && state.phase !== 'read-only') return state
  return { ...state, phase: state.holder && !state.holder.isMe ? 'read-only' : 'idle' }
}

function undecided({ demand }: DocumentLockState): Demand | null {
  return demand === 'asking' || demand === 'taking-over' || demand === 'postponed' ? demand : null
}
