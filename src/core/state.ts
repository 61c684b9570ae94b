/**
 * The life of one lease as a pure reducer:
 *
 *     free → asking ⇄ waiting → held → lost | released
 *
 * `lost` and `released` are final. A held lease has a deadline on the client's own clocks. It is counted from
 * *before* the request was sent, and only an answer that came in time moves it, so it is never later than the
 * store's expiry. 2 % of the TTL allow for clocks that run at different rates. Monotonic clocks may stop while a
 * machine sleeps, so a wall clock past the deadline ends the lease as well.
 */
import type { Moment } from '../base/clock.ts'
import type { LossReason } from './lease.ts'

const DRIFT = 0.02
/** Timers fire slightly late, and a loss must not be signalled after the deadline. */
const TIMER_LEAD_MS = 2

export type LeaseState =
  | { readonly phase: 'free' | 'asking' | 'waiting' }
  | Held
  | { readonly phase: 'lost'; readonly reason: LossReason }
  | { readonly phase: 'released' }

export interface Held {
  readonly phase: 'held'
  readonly until: Moment
  /** Monotonic times of the next heartbeat and of the warning; `Infinity`: none. */
  readonly beatAt: number
  readonly dangerAt: number
}

export type Action =
  | { readonly type: 'ask' }
  /** Held by another caller, or no answer. */
  | { readonly type: 'refused' }
  | {
      readonly type: 'granted'
      readonly sent: Moment
      readonly at: Moment
      readonly options: { readonly ttl: number; readonly heartbeat: number }
      /** A store may grant less than the requested TTL, or (`null`) a lease that never expires. */
      readonly remaining: number | null
    }
  /** A renewal was sent or failed. The next one is due at `again` unless an answer comes first. */
  | { readonly type: 'beat'; readonly at: Moment; readonly again: number }
  | { readonly type: 'warned' }
  | { readonly type: 'tick'; readonly at: Moment }
  | { readonly type: 'end'; readonly reason: LossReason }
  | { readonly type: 'release' }

export const FREE: LeaseState = { phase: 'free' }

export function reduce(state: LeaseState, action: Action): LeaseState {
  if (state.phase === 'lost' || state.phase === 'released') return state
  if (action.type === 'release') return { phase: 'released' }
  if (action.type === 'end') return { phase: 'lost', reason: action.reason }
  return state.phase === 'held' ? whileHeld(state, action) : whileAsking(state, action)
}

function whileAsking(state: LeaseState, action: Action): LeaseState {
  switch (action.type) {
    case 'ask':
      return { phase: 'asking' }
    case 'refused':
      return { phase: 'waiting' }
    case 'granted': {
      const held = holdFrom(action)
      // An answer that comes after its own deadline is not a grant.
      return hasPassed(held, action.at) ? { phase: 'waiting' } : held
    }
    default:
      return state
  }
}

function whileHeld(state: Held, action: Action): LeaseState {
  if ('at' in action && hasPassed(state, action.at)) return { phase: 'lost', reason: 'deadline' }
  switch (action.type) {
    case 'granted': {
      const renewed = holdFrom(action)
      // Answers may overtake each other, and an earlier renewal may have had a longer TTL: no deadline moves back.
      if (renewed.until.mono >= state.until.mono) return renewed
      return { ...state, beatAt: Math.max(state.beatAt, renewed.beatAt) }
    }
    case 'beat':
      return { ...state, beatAt: action.again }
    case 'warned':
      return { ...state, dangerAt: Infinity }
    default:
      return state
  }
}

function holdFrom({ sent, options, remaining }: Action & { type: 'granted' }): Held {
  const ttl = remaining === null ? Infinity : Math.min(options.ttl, remaining)
  const span = ttl * (1 - DRIFT)
  return {
    phase: 'held',
    until: { mono: sent.mono + span, wall: sent.wall + span },
    beatAt: sent.mono + options.heartbeat,
    dangerAt: sent.mono + ttl * (2 / 3 - DRIFT),
  }
}

export function hasPassed(held: Held, at: Moment): boolean {
  return at.mono >= held.until.mono - TIMER_LEAD_MS || at.wall >= held.until.wall
}

/** The monotonic time at which a held lease next needs an action. */
export function nextDue(held: Held): number {
  return Math.min(held.until.mono - TIMER_LEAD_MS, held.dangerAt, held.beatAt)
}
