import { bounded, CALL_LIMIT_MS } from './bounded.ts'
import { type Context, moment } from './context.ts'
import { asLeaseError, LeaseError } from './errors.ts'
import type { JsonObject, Lease, LeaseRecord, LossReason } from './lease.ts'
import type { Wish } from './options.ts'
import { releaseInTime } from './release.ts'
import { type Action, type Held, hasPassed, type LeaseState, type Moment, nextDue, reduce } from './state.ts'

const LOSS: Record<LossReason, string> = {
  refused: 'the store says that it belongs to us no more',
  deadline: 'its deadline passed without a renewal',
  ended: 'another took it over or ended it',
  'gave-up': 'renewing it was given up',
}

/** A granted lease: feeds the reducer with answers and time, and does what the state calls for. */
export class HeldLease implements Lease {
  readonly resource: string
  readonly id: string
  readonly owner: string
  readonly token: number
  readonly metadata: JsonObject | null
  readonly acquiredAt: number
  #expiresAt: number | null
  readonly #context: Context
  readonly #wish: Wish
  readonly #since: number
  #state: LeaseState
  #lossError: LeaseError | undefined
  #lastFailure: LeaseError | undefined
  /** Made when first asked for: most leases end without anybody looking at their signal. */
  #loss: AbortController | undefined
  #cancelTimer: () => void = () => {}
  #released: Promise<void> | undefined

  constructor(context: Context, wish: Wish, record: LeaseRecord, state: Held) {
    this.resource = record.resource
    this.id = record.id
    this.owner = record.owner
    this.token = record.token
    this.metadata = record.metadata
    this.acquiredAt = record.acquiredAt
    this.#expiresAt = record.expiresAt
    this.#context = context
    this.#wish = wish
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
    if (!this.#loss) {
      this.#loss = new AbortController()
      if (this.#lossError) this.#loss.abort(this.#lossError)
    }
    return this.#loss.signal
  }

  async renew(): Promise<void> {
    if (!this.held)
      throw this.#lossError ?? new LeaseError('lease-lost', `${this.resource} was released`, this)
    const { signal, resource } = this
    await bounded(this.#context.clock, this.#beat(), { ms: this.#answerLimit, stop: signal, resource })
    if (this.#lossError) throw this.#lossError
  }

  release(): Promise<void> {
    this.#released ??= this.#release()
    return this.#released
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The failure was told by an event, and the lease ends with its TTL; the caller's own result counts.
    await this.release().catch(() => {})
  }

  /** The store told that the lease was ended by another. */
  endedByStore(): void {
    this.#dispatch({ type: 'end', reason: 'ended' })
  }

  /** So that several renewals fit between the first failure and the deadline. */
  get #answerLimit(): number {
    return Math.min(CALL_LIMIT_MS, this.#wish.ttl / 6)
  }

  #dispatch(action: Action): void {
    const before = this.#state
    const state = reduce(before, action)
    this.#state = state
    this.#arm()
    if (state.phase === 'lost' && before.phase === 'held') this.#onLost(state.reason)
  }

  #arm(): void {
    this.#cancelTimer()
    if (this.#state.phase !== 'held') return
    const due = nextDue(this.#state)
    if (due === Infinity) return
    const { clock } = this.#context
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
    this.#context.emit(this, { type: 'warning', code: 'lease-in-danger', token: this.token, left })
  }

  /** Sends one renewal. Whenever its answer comes, it counts from its own send time. */
  async #beat(): Promise<void> {
    const { clock, store } = this.#context
    const { resource, id } = this
    const sent = moment(clock)
    this.#dispatch({ type: 'beat', at: sent, again: sent.mono + this.#answerLimit })
    try {
      const renewal = await store.renew({ resource, id, ttl: this.#wish.ttl })
      if (renewal.ok) this.#onRenewed(sent, renewal.lease)
      else this.#dispatch({ type: 'end', reason: 'refused' })
    } catch (cause) {
      const error = asLeaseError(cause, resource)
      this.#onRenewFailed(error)
      throw error
    }
  }

  #onRenewed(sent: Moment, lease: LeaseRecord): void {
    const { clock } = this.#context
    const at = moment(clock)
    const left = this.#state.phase === 'held' ? this.#state.until.mono - at.mono : 0
    const { ttl, heartbeat } = this.#wish
    this.#dispatch({ type: 'granted', sent, at, ttl: effectiveTtl(ttl, lease), heartbeat })
    if (this.#state.phase !== 'held') return
    this.#expiresAt = lease.expiresAt
    this.#context.emit(this, {
      type: 'renewed',
      token: this.token,
      expiresAt: lease.expiresAt,
      left: left === Infinity ? null : left,
    })
  }

  #onRenewFailed(error: LeaseError): void {
    if (this.#state.phase !== 'held') return
    this.#lastFailure = error
    this.#context.emit(this, { type: 'error', operation: 'renew', error, retryable: error.retryable })
    const pause = this.#wish.retry(this.#state.failures + 1)
    const at = moment(this.#context.clock)
    if (pause === null) this.#dispatch({ type: 'end', reason: 'gave-up' })
    else this.#dispatch({ type: 'failed', at, again: at.mono + pause })
  }

  #onLost(reason: LossReason): void {
    this.#lossError = new LeaseError(
      'lease-lost',
      `the lease of ${this.resource} was lost: ${LOSS[reason]}`,
      {
        resource: this.resource,
        ...(this.#lastFailure && { cause: this.#lastFailure }),
      },
    )
    this.#context.held.delete(this)
    this.#context.line?.ring(this.resource)
    this.#loss?.abort(this.#lossError)
    this.#context.emit(this, {
      type: 'lost',
      token: this.token,
      reason,
      error: this.#lossError,
      heldFor: this.#heldFor,
    })
  }

  async #release(): Promise<void> {
    const { held, line, emit } = this.#context
    if (!this.held) {
      // The work has ended by now; the store may still count the lease as live.
      this.#context.giveUp(this.id, this.#wish)
      return
    }
    const heldFor = this.#heldFor
    this.#dispatch({ type: 'release' })
    held.delete(this)
    const { ended, failures } = await releaseInTime(this.#context, this.id, this.#wish)
    if (ended?.state === 'released' || failures > 0)
      emit(this, { type: 'released', token: this.token, heldFor })
    else this.#onLost('refused')
    line?.ring(this.resource)
  }

  get #heldFor(): number {
    return this.#context.clock.monotonic() - this.#since
  }
}

/** A store may grant less than was asked for, or (`null`) a lease without an end of its own. */
export function effectiveTtl(ttl: number, lease: LeaseRecord): number {
  return lease.remaining === null ? Infinity : Math.min(ttl, lease.remaining)
}
