import { Stop } from '../base/abort.ts'
import { answerWithin } from '../base/answer-within.ts'
import { type Moment, moment } from '../base/clock.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Context } from './context.ts'
import type { LossReason } from './lease.ts'
import type { CheckedOptions } from './options.ts'
import { releaseInTime } from './release.ts'
import { type Held, hasPassed, hold, nextDue } from './state.ts'
import type { RenewAsk } from './store.ts'

export type KeepOptions = Pick<CheckedOptions, 'ttl' | 'heartbeat' | 'retry'>

/** The ids of the leases that this process holds. */
const heldHere = new Set<string>()

/** Whether this process holds the lease with this id. */
export function isHeldHere(id: string): boolean {
  return heldHere.has(id)
}

/** Keeps a granted lease alive by its heartbeat, until it is released or lost. */
export class Keeper {
  readonly context: Context
  readonly options: KeepOptions
  /** The lease as it was granted. */
  readonly record: LeaseRecord
  #expiresAt: number | null
  readonly #since: number
  /** `null`: lost or released, for good. */
  #held: Held | null = null
  /** Renewals that failed since the last one that succeeded. */
  #failures = 0
  #lastFailure: LeaseError | undefined
  /** A renewal was sent, and none was answered since. */
  #isUnanswered = false
  readonly #loss = new Stop()
  #cancelTimer: (() => void) | undefined
  #renewal: Promise<void> | undefined
  #released: Promise<void> | undefined

  constructor(context: Context, options: KeepOptions, record: LeaseRecord, held: Held) {
    this.context = context
    this.options = options
    this.record = record
    this.#expiresAt = record.expiresAt
    this.#since = context.clock.monotonic()
    context.held.add(this)
    heldHere.add(record.id)
    this.#set(held)
  }

  /** By the store's clock; moves with every renewal. */
  get expiresAt(): number | null {
    return this.#expiresAt
  }

  get held(): boolean {
    return this.#heldAt(moment(this.context.clock)) !== null
  }

  /** Aborts when the lease is lost. */
  get signal(): AbortSignal {
    return this.#loss.signal
  }

  /** Renews now, in addition to the heartbeat. Calls at the same time share one renewal. */
  renew(): Promise<void> {
    this.#renewal ??= this.renewWith().finally(() => (this.#renewal = undefined))
    return this.#renewal
  }

  /** Sends one renewal, and waits for its answer. */
  async renewWith(changes?: Partial<RenewAsk>): Promise<void> {
    const { context, record } = this
    const { resource } = record
    if (!this.held)
      throw this.#loss.reason ?? new LeaseError('lease-lost', `${resource} was released`, { resource })
    await answerWithin(this.#beat(changes), context.callTimeout, context, resource, this.#loss)
    // The store may have refused, or another caller may have ended the lease meanwhile.
    this.#loss.throwIfAborted()
  }

  /** Rejects only if the store could not be reached; the lease then ends with its TTL. */
  release(): Promise<void> {
    this.#released ??= this.#release()
    return this.#released
  }

  /** Stops the heartbeat. A later release does nothing. Returns how long the lease was held. */
  letGo(): number {
    this.#released = Promise.resolve()
    return this.#end()
  }

  /** The lease can no longer be trusted. */
  lose(reason: LossReason): void {
    if (!this.#held) return
    this.#end()
    this.#onLost(reason)
  }

  /** The work is told before the lease is released. */
  close(error: LeaseError): Promise<void> {
    this.#loss.abort(error)
    return this.release().catch(() => {})
  }

  /** The state at this moment. A lease whose deadline has passed is lost. */
  #heldAt(at: Moment): Held | null {
    if (this.#held && hasPassed(this.#held, at)) this.lose('deadline')
    return this.#held
  }

  #set(held: Held | null): void {
    const { clock } = this.context
    this.#held = held
    this.#cancelTimer?.()
    const due = held ? nextDue(held) : Infinity
    if (due < Infinity)
      this.#cancelTimer = clock.setTimer(() => this.#tick(), Math.max(0, due - clock.monotonic()), true)
  }

  #tick(): void {
    const at = moment(this.context.clock)
    const held = this.#heldAt(at)
    if (!held) return
    const isInDanger = at.mono >= held.dangerAt
    this.#set(isInDanger ? { ...held, dangerAt: Infinity } : held)
    if (at.mono >= held.beatAt) this.#beat().catch(() => {})
    const left = held.until.mono - at.mono
    if (isInDanger) this.context.emit(this.record, { type: 'warning', code: 'lease-in-danger', left })
  }

  #beatIn(ms: number): void {
    if (this.#held) this.#set({ ...this.#held, beatAt: this.context.clock.monotonic() + ms })
  }

  /** Sends one renewal. Its answer counts from its own send time, whenever it comes. */
  async #beat(changes?: Partial<RenewAsk>): Promise<void> {
    const { clock, store, callTimeout } = this.context
    const { resource, id } = this.record
    const { ttl } = this.options
    const ask = { resource, id, ttl, ...changes }
    const sent = moment(clock)
    // Without an answer the next renewal is sent after this long, so that several fit before the deadline.
    this.#beatIn(Math.min(callTimeout, ttl / 6))
    this.#isUnanswered = true
    try {
      const renewal = await store.renew(ask, { timeout: callTimeout })
      if (renewal.ok) this.#onRenewed(sent, ask.ttl, renewal.lease)
      else this.lose('refused')
    } catch (cause) {
      const error = asLeaseError(cause, resource)
      this.#onFailed(error)
      throw error
    }
  }

  #onRenewed(sent: Moment, ttl: number, { remaining, expiresAt }: LeaseRecord): void {
    const at = moment(this.context.clock)
    const before = this.#heldAt(at)
    const held = hold({ sent, at, ttl, heartbeat: this.options.heartbeat, remaining }, before)
    if (!held) return
    this.#set(held)
    this.#failures = 0
    this.#lastFailure = undefined
    this.#isUnanswered = false
    this.#expiresAt = expiresAt
    const left = (before ?? held).until.mono - at.mono
    this.context.emit(this.record, { type: 'renewed', expiresAt, left: left === Infinity ? null : left })
  }

  #onFailed(error: LeaseError): void {
    if (!this.#held) return
    this.#lastFailure = error
    this.context.emit(this.record, { type: 'error', operation: 'renew', error })
    const pause = this.options.retry(++this.#failures)
    if (pause === null) this.lose('gave-up')
    else this.#beatIn(pause)
  }

  #onLost(reason: LossReason): void {
    const { store, queue, emit } = this.context
    const { resource } = this.record
    if (reason === 'deadline' && this.#isUnanswered && !this.#lastFailure) {
      const silence = new LeaseError('store-unavailable', 'no renewal was answered')
      this.#lastFailure = store.explain?.(silence) ?? silence
    }
    const cause = this.#lastFailure
    const why = cause ? `: ${cause.message}` : ''
    const error = new LeaseError('lease-lost', `the lease of ${resource} was lost (${reason})${why}`, {
      resource,
      cause,
    })
    queue?.wake(resource)
    this.#loss.abort(error)
    emit(this.record, { type: 'lost', reason, error, heldFor: this.#heldFor() })
  }

  #heldFor(): number {
    return this.context.clock.monotonic() - this.#since
  }

  #end(): number {
    this.#set(null)
    this.context.held.delete(this)
    heldHere.delete(this.record.id)
    return this.#heldFor()
  }

  async #release(): Promise<void> {
    const { queue, emit, giveUp } = this.context
    const { record } = this
    // The store may still count a lost lease as live.
    if (!this.held) return giveUp(record, this.options)
    const heldFor = this.#end()
    const ended = await releaseInTime(this.context, record, this.options)
    if (ended === 'released') emit(record, { type: 'released', heldFor })
    else this.#onLost('refused')
    queue?.wake(record.resource)
  }
}
