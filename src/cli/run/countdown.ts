/**
 * Ends a command before its lease does:
 *
 *     running ── SIGTERM, the grace before ──▶ asked ── SIGKILL, at its time ──▶ killed
 *
 * Every renewal that was acknowledged puts both off. Once the command was asked to stop nothing does: it is on its
 * way out, and a lease that comes back does not bring it back.
 */
import { later, type Moment, msUntil, present } from './moment.ts'

/** A machine that wakes from sleep must not wait for a timer that stood still. */
const LOOK_EVERY_MS = 1000

export class Countdown {
  readonly #graceMs: number
  readonly #send: (signal: 'SIGTERM' | 'SIGKILL') => void
  #stage: 'running' | 'asked' | 'killed' = 'running'
  #killAt: Moment | undefined
  #timer: NodeJS.Timeout | undefined
  #immediate: NodeJS.Immediate | undefined

  constructor(graceMs: number, send: (signal: 'SIGTERM' | 'SIGKILL') => void) {
    this.#graceMs = graceMs
    this.#send = send
  }

  /** Answers may overtake each other: an older one does not pull the time back. */
  extend(killAt: Moment): void {
    if (this.#stage !== 'running' || (this.#killAt && killAt.mono <= this.#killAt.mono)) return
    this.#killAt = killAt
    this.#arm()
  }

  /** Another has sent SIGTERM. */
  asked(): void {
    if (this.#stage === 'running') this.#stage = 'asked'
  }

  /** Ends the command now: with the grace, but never later than it was to be. */
  endNow(): void {
    const soonest = later(present(), this.#graceMs)
    if (!this.#killAt || soonest.mono < this.#killAt.mono) this.#killAt = soonest
    if (this.#stage === 'running') this.#ask()
    this.#arm()
  }

  /** Ends the command now, without grace: another may have the lease already. */
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
    // Who was held up hears first what has come in meanwhile: it may be a renewal.
    const look = () => {
      this.#immediate = setImmediate(() => this.#look())
    }
    this.#timer = setTimeout(look, Math.max(0, Math.min(next, LOOK_EVERY_MS)))
  }

  #disarm(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#immediate)
  }

  #look(): void {
    const left = this.#killAt ? msUntil(this.#killAt) : Number.POSITIVE_INFINITY
    if (left <= 0) {
      this.#kill()
      return
    }
    if (this.#stage === 'running' && left <= this.#graceMs) this.#ask()
    this.#arm()
  }

  #ask(): void {
    this.#stage = 'asked'
    this.#send('SIGTERM')
  }

  #kill(): void {
    this.#disarm()
    this.#stage = 'killed'
    this.#send('SIGKILL')
  }
}
