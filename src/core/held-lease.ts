import { Stop } from '../base/abort.ts'
import { type Moment, moment } from '../base/clock.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import type { JsonObject, LeaseRecord } from '../base/records.ts'
import { answerOf, type Context } from './context.ts'
import type { Lease, LossReason } from './lease.ts'
import type { CheckedOptions } from './options.ts'
import { releaseInTime } from './release.ts'
import { type Action, type Held, hasPassed, type LeaseState, nextDue, reduce } from './state.ts'
import type { HoldingStore, RenewAsk } from './store.ts'

/** A granted lease: feeds answers and time to the reducer, and acts on its state. */
export class HeldLease implements Omit<Lease, 'detach'> {
  declare readonly resource: string
  declare readonly id: string
  declare readonly owner: string
  declare readonly token: number
  declare readonly metadata: JsonObject | null
  declare readonly acquiredAt: number
  #expiresAt: number | null
  readonly #context: Context
  readonly #options: CheckedOptions
  readonly #since: number
  #state: LeaseState
  /** Renewals that failed since the last one that succeeded. */
  #failures = 0
  #lastFailure: LeaseError | undefined
  /** A renewal was sent, and none was answered since. */
  #isUnanswered = false
  readonly #loss = new Stop()
  #cancelTimer: (() => void) | undefined
  #renewal: Promise<void> | undefined
  #released: Promise<void> | undefined

  constructor(context: Context, options: CheckedOptions, record: LeaseRecord, state: Held) {
    this.resource = record.resource
    this.id = record.id
    this.owner = record.owner
    this.token = record.token
    this.metadata = record.metadata
    this.acquiredAt = record.acquiredAt
    this.#expiresAt = record.expiresAt
    this.#context = context
    this.#options = options
    this.#since = context.clock.monotonic()
    this.#state = state
    context.held.add(this)
    this.#arm()
  }

  get expiresAt(): number | null {
    return this.#expiresAt
  }

  get held(): boolean {
    if (this.#state.phase === 'held' && hasPassed(this.#state, moment(this.#context.clock))) this.#tick()
    return this.#state.phase === 'held'
  }

  get signal(): AbortSignal {
    return this.#loss.signal
  }

  async renew(): Promise<void> {
    this.#renewal ??= this.renewNow().finally(() => (this.#renewal = undefined))
    return this.#renewal
  }

  release(): Promise<void> {
    this.#released ??= this.#release()
    return this.#released
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // An event reported the failure, and the lease ends with its TTL. The caller's own result counts.
    await this.release().catch(() => {})
  }

  /** The store reported that another caller ended the lease. */
  static endedByStore(lease: HeldLease): void {
    lease.#dispatch({ type: 'end', reason: 'ended' })
  }

  /** The manager closes: the work is told before the lease is released. */
  static close(lease: HeldLease, error: LeaseError): Promise<void> {
    lease.#loss.abort(error)
    return lease[Symbol.asyncDispose]()
  }

  /** Sends one renewal, and waits for its answer. */
  async renewNow(changes?: Partial<RenewAsk>): Promise<void> {
    const { resource } = this
    if (!this.held)
      throw this.#loss.reason ?? new LeaseError('lease-lost', `${resource} was released`, { resource })
    const context = this.#context
    await answerOf(context, this.#beat(changes), context.callTimeout, resource, this.#loss)
    // The store may have refused, or another caller may have ended the lease meanwhile.
    this.#loss.throwIfAborted()
  }

  /** Without an answer the next renewal is sent after this long, so that several fit before the deadline. */
  get #repeatMs(): number {
    return Math.min(this.#context.callTimeout, this.#options.ttl / 6)
  }

  get #heldFor(): number {
    return this.#context.clock.monotonic() - this.#since
  }

  #dispatch(action: Action): void {
    const before = this.#state
    const state = reduce(before, action)
    this.#state = state
    this.#arm()
    if (state.phase === 'lost' && before.phase === 'held') this.#onLost(state.reason)
  }

  #arm(): void {
    this.#cancelTimer?.()
    const { clock } = this.#context
    const due = this.#state.phase === 'held' ? nextDue(this.#state) : Infinity
    if (due < Infinity)
      this.#cancelTimer = clock.setTimer(() => this.#tick(), Math.max(0, due - clock.monotonic()), true)
  }

  #tick(): void {
    const at = moment(this.#context.clock)
    this.#dispatch({ type: 'tick', at })
    if (this.#state.phase !== 'held') return
    const { beatAt, dangerAt, until } = this.#state
    if (at.mono >= beatAt) this.#beat().catch(() => {})
    if (at.mono < dangerAt) return
    this.#dispatch({ type: 'warned' })
    const left = until.mono - at.mono
    this.#context.emit(this, { type: 'warning', code: 'lease-in-danger', left })
  }

  /** Sends one renewal. Its answer counts from its own send time, whenever it comes. */
  async #beat(changes?: Partial<RenewAsk>): Promise<void> {
    const { clock, store, callTimeout } = this.#context
    const { resource, id } = this
    const ask = { resource, id, ttl: this.#options.ttl, ...changes }
    let sent = moment(clock)
    const queued = () => {
      sent = moment(clock)
    }
    this.#dispatch({ type: 'beat', at: sent, again: sent.mono + this.#repeatMs })
    this.#isUnanswered = true
    try {
      const renewal = await store.renew(ask, { timeout: callTimeout, queued })
      if (renewal.ok) this.#onRenewed(sent, ask.ttl, renewal.lease)
      else this.#dispatch({ type: 'end', reason: 'refused' })
    } catch (cause) {
      const error = asLeaseError(cause, resource)
      this.#onRenewFailed(error)
      throw error
    }
  }

  #onRenewed(sent: Moment, ttl: number, { remaining, expiresAt }: LeaseRecord): void {
    const at = moment(this.#context.clock)
    const left = this.#state.phase === 'held' ? this.#state.until.mono - at.mono : 0
    const { heartbeat } = this.#options
    this.#dispatch({ type: 'granted', sent, at, options: { ttl, heartbeat }, remaining })
    if (this.#state.phase !== 'held') return
    this.#failures = 0
    this.#lastFailure = undefined
    this.#isUnanswered = false
    this.#expiresAt = expiresAt
    this.#context.emit(this, { type: 'renewed', expiresAt, left: left === Infinity ? null : left })
  }

  #onRenewFailed(error: LeaseError): void {
    if (this.#state.phase !== 'held') return
    this.#lastFailure = error
    this.#context.emit(this, { type: 'error', operation: 'renew', error })
    const pause = this.#options.retry(++this.#failures)
    const at = moment(this.#context.clock)
    if (pause === null) this.#dispatch({ type: 'end', reason: 'gave-up' })
    else this.#dispatch({ type: 'beat', at, again: at.mono + pause })
  }

  #onLost(reason: LossReason): void {
    const { resource } = this
    // No renewal was answered at all.
    if (reason === 'deadline' && this.#isUnanswered) this.#lastFailure ??= silence(this.#context.store)
    const cause = this.#lastFailure
    const why = cause ? `: ${cause.message}` : ''
    const error = new LeaseError('lease-lost', `the lease of ${resource} was lost (${reason})${why}`, {
      resource,
      cause,
    })
    this.#context.held.delete(this)
    this.#context.queue?.wake(resource)
    this.#loss.abort(error)
    this.#context.emit(this, { type: 'lost', reason, error, heldFor: this.#heldFor })
  }

  /** Stops the heartbeat: this handle holds nothing any more. Returns how long it held the lease. */
  letGo(): number {
    const heldFor = this.#heldFor
    this.#dispatch({ type: 'release' })
    this.#released ??= Promise.resolve()
    this.#context.held.delete(this)
    return heldFor
  }

  async #release(): Promise<void> {
    const context = this.#context
    const { resource, id } = this
    if (!this.held) {
      // The work has ended. The store may still count the lease as live.
      context.giveUp(id, this.#options)
      return
    }
    const heldFor = this.letGo()
    const ended = await releaseInTime(context, id, this.#options)
    if (ended === 'released') context.emit(this, { type: 'released', heldFor })
    else this.#onLost('refused')
    context.queue?.wake(resource)
  }
}

function silence(store: HoldingStore): LeaseError {
  const error = new LeaseError('store-unavailable', 'no renewal was answered')
  return store.explain?.(error) ?? error
}
