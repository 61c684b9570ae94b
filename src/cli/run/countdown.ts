/**
 * Ends a command before its lease ends:
 *
 *     running ── SIGTERM, the grace before the kill ──▶ terminating ── SIGKILL ──▶ killed
 *
 * Every acknowledged renewal postpones both signals. After SIGTERM nothing does, even if the store answers again: the
 * command is already shutting down.
 */
import type { Moment } from '../../base/clock.ts'
import { COUNTDOWN_CHECK_EVERY_MS } from '../options.ts'

export type EndSignal = 'SIGTERM' | 'SIGKILL'

export class Countdown {
  readonly #graceMs: number
  readonly #send: (signal: EndSignal) => void
  #stage: 'running' | 'terminating' | 'killed' = 'running'
  #killAt: Moment | undefined
  #timer: NodeJS.Timeout | undefined
  #immediate: NodeJS.Immediate | undefined

  constructor(graceMs: number, send: (signal: EndSignal) => void) {
    this.#graceMs = graceMs
    this.#send = send
  }

  /** The time of the first signal has come, whether or not the signal was sent. */
  get isDue(): boolean {
    return this.#killAt !== undefined && msUntil(this.#killAt) <= this.#graceMs
  }

  /** Postpones the kill. Answers may overtake each other, so an earlier moment is ignored. */
  extend(killAt: Moment): void {
    if (this.#stage !== 'running' || (this.#killAt && killAt.mono <= this.#killAt.mono)) return
    this.#killAt = killAt
    this.#arm()
  }

  /** Another process has sent SIGTERM, so this one does not. */
  markTerminating(): void {
    if (this.#stage === 'running') this.#stage = 'terminating'
  }

  /** Sends SIGTERM now, and SIGKILL after the grace or at the planned moment, whichever is earlier. */
  endNow(): void {
    const soonest = later(now(), this.#graceMs)
    if (!this.#killAt || soonest.mono < this.#killAt.mono) this.#killAt = soonest
    if (this.#stage === 'running') this.#terminate()
    this.#arm()
  }

  /** Sends SIGKILL now, without grace: another holder may have the lease already. */
  killNow(): void {
    if (this.#stage !== 'killed') this.#kill()
  }

  cancel(): void {
    this.#disarm()
    this.#stage = 'killed'
  }

  #arm(): void {
    this.#disarm()
    if (!this.#killAt || this.#stage === 'killed') return
    const left = msUntil(this.#killAt)
    const next = this.#stage === 'running' ? left - this.#graceMs : left
    // If this process was delayed, a renewal may be waiting in its input. An immediate runs after that was read.
    const checkAfterInput = () => {
      this.#immediate = setImmediate(() => this.#check())
    }
    this.#timer = setTimeout(checkAfterInput, Math.max(0, Math.min(next, COUNTDOWN_CHECK_EVERY_MS)))
  }

  #disarm(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#immediate)
  }

  #check(): void {
    const left = this.#killAt ? msUntil(this.#killAt) : Number.POSITIVE_INFINITY
    if (left <= 0) {
      this.#kill()
      return
    }
    if (this.#stage === 'running' && left <= this.#graceMs) this.#terminate()
    this.#arm()
  }

  #terminate(): void {
    this.#stage = 'terminating'
    this.#send('SIGTERM')
  }

  #kill(): void {
    this.#disarm()
    this.#stage = 'killed'
    this.#send('SIGKILL')
  }
}

/** `performance.now()` counts from the start of a process. `hrtime` is the same for all processes of the machine. */
export function now(): Moment {
  return { mono: Number(process.hrtime.bigint()) / 1e6, wall: Date.now() }
}

export function later({ mono, wall }: Moment, ms: number): Moment {
  return { mono: mono + ms, wall: wall + ms }
}

/** By the clock that gets there first: one may stand still while the machine sleeps, the other may be set. */
export function msUntil({ mono, wall }: Moment): number {
  const current = now()
  return Math.min(mono - current.mono, wall - current.wall)
}
