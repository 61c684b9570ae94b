/**
 * The time that a lease has left, as pure functions:
 *
 *     granted → held ⇄ renewed → over
 *
 * A held lease has a deadline on the client's own clocks. It is counted from *before* the request was sent, and only
 * an answer that came in time moves it, so it is never later than the store's expiry. 2 % of the TTL allow for clocks
 * that run at different rates. Monotonic clocks may stop while a machine sleeps, so a wall clock past the deadline
 * ends the lease as well.
 */
import type { Moment } from '../base/clock.ts'
import { DRIFT, LATEST_BEAT, TIMER_LEAD_MS } from '../base/options.ts'

export interface Held {
  readonly until: Moment
  /** Monotonic times of the next heartbeat and of the warning; `Infinity`: none. */
  readonly beatAt: number
  readonly dangerAt: number
}

export interface Granted {
  readonly sent: Moment
  /** When the answer came. */
  readonly at: Moment
  readonly ttl: number
  readonly heartbeat: number
  /** A store may grant less than the requested TTL, or (`null`) a lease that never expires. */
  readonly remaining: number | null
}

/**
 * The state after a grant, or after a renewal of what is `held`. `null`: the answer came after the deadline, or the
 * lease had ended before. That is final.
 */
export function hold(granted: Granted, held?: Held | null): Held | null {
  const { sent, at, heartbeat, remaining } = granted
  const ttl = remaining === null ? Infinity : Math.min(granted.ttl, remaining)
  const span = ttl * (1 - DRIFT)
  const next = {
    until: { mono: sent.mono + span, wall: sent.wall + span },
    beatAt: Math.max(sent.mono + heartbeat, Math.min(at.mono + heartbeat, sent.mono + ttl * LATEST_BEAT)),
    dangerAt: sent.mono + ttl * (2 / 3 - DRIFT),
  }
  if (held === null || hasPassed(held ?? next, at)) return null
  if (!held || next.until.mono >= held.until.mono) return next
  // Answers may overtake each other, and an earlier renewal may have had a longer TTL: no deadline moves back.
  return { ...held, beatAt: Math.max(held.beatAt, next.beatAt) }
}

export function hasPassed({ until }: Held, at: Moment): boolean {
  return at.mono >= until.mono - TIMER_LEAD_MS || at.wall >= until.wall
}

/** The monotonic time at which a held lease next needs an action. */
export function nextDue({ until, dangerAt, beatAt }: Held): number {
  return Math.min(until.mono - TIMER_LEAD_MS, dangerAt, beatAt)
}
