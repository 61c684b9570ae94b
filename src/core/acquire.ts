import { bounded, CALL_LIMIT_MS } from './bounded.ts'
import { type Context, moment } from './context.ts'
import { asLeaseError, LeaseError } from './errors.ts'
import { effectiveTtl, HeldLease } from './held-lease.ts'
import type { Wish } from './options.ts'
import { FREE, type LeaseState, reduce } from './state.ts'
import type { Answer, Ask, Grant, Refusal } from './store.ts'
import { Bell } from './waiting.ts'

/** A push may be lost; a waiter asks again after this long whatever it was told. */
const POLL_BEHIND_PUSH_MS = 5000

/**
 * One asker's way to a lease. Every attempt carries the same id, so that asking again after a lost answer is
 * harmless: the store grants the same lease again. Between attempts the asker sleeps until the store wakes it,
 * the holder's expiry comes, or, where the store cannot push, the backoff is over.
 */
export class Acquisition {
  readonly #context: Context
  readonly #wish: Wish
  readonly #stop: AbortSignal
  readonly #ask: Ask
  readonly #bell: Bell
  readonly #started: number
  #state: LeaseState = FREE
  #lease: HeldLease | undefined
  #refusal: Refusal | undefined
  #endedEarly = false
  #over = false
  /** The store may keep a lease, a reservation or a place in line for our id. */
  #owing = false

  constructor(context: Context, wish: Wish, stop: AbortSignal) {
    const { resource, owner, ttl, metadata, wait } = wish
    this.#context = context
    this.#wish = wish
    this.#stop = stop
    this.#bell = new Bell(context.clock)
    this.#started = context.clock.monotonic()
    this.#ask = {
      resource,
      id: crypto.randomUUID(),
      owner,
      ttl,
      ...(metadata && { metadata }),
      ...(wait > 0 && context.store.supports.queue && { wake: (inMs: number) => this.#bell.ring(inMs) }),
      lost: () => {
        this.#endedEarly = true
        this.#lease?.endedByStore()
      },
    }
  }

  async run(): Promise<HeldLease> {
    try {
      for (;;) {
        await this.#localTurn()
        const outcome = await this.#attempt()
        if (outcome instanceof HeldLease) return outcome
        await this.#bell.sleep(Math.min(this.#pauseAfter(outcome), this.#left), this.#stop)
        if (this.#left <= 0) throw this.#reason(outcome)
      }
    } finally {
      this.#over = true
      this.#context.line?.leave(this.#wish.resource, this.#bell)
      if (this.#owing) this.#giveUp()
    }
  }

  /** Where the store keeps no line, the manager's own is first in, first out, and only its head asks. */
  async #localTurn(): Promise<void> {
    const { clock, store, line } = this.#context
    const { resource, wait } = this.#wish
    if (!line || (wait === 0 && !line.has(resource))) return
    if (wait === 0) {
      const [holder = null] = await bounded(clock, store.read([resource]), {
        ms: CALL_LIMIT_MS,
        stop: this.#stop,
        resource,
      })
      throw this.#reason({ granted: false, holder, place: null, retryIn: null })
    }
    for (let place = line.place(resource, this.#bell); place > 0; place = line.place(resource, this.#bell)) {
      const refusal: Refusal = { granted: false, holder: null, place, retryIn: null }
      this.#onRefused(refusal)
      await this.#bell.sleep(this.#left, this.#stop)
      if (this.#left <= 0) throw this.#reason(refusal)
      this.#bell.reset()
    }
  }

  async #attempt(): Promise<HeldLease | Refusal | LeaseError> {
    const { clock, store } = this.#context
    const { resource, ttl, wait } = this.#wish
    const attempt = this.#dispatchAsk()
    this.#context.emit(this.#ask, { type: 'attempt', attempt })
    // The answer will tell all that earlier wake-ups told; later ones must stay latched.
    this.#bell.reset()
    const sent = moment(clock)
    const ms = Math.min(CALL_LIMIT_MS, ttl, wait > 0 ? this.#left : Infinity)
    const call = store.acquire(this.#ask, { signal: this.#stop })
    let answer: Answer
    try {
      answer = await bounded(clock, call, { ms, stop: this.#stop, resource })
    } catch (cause) {
      this.#owing = true
      this.#releaseIfLate(call)
      if (this.#stop.aborted) throw cause
      return this.#onFailed(asLeaseError(cause, resource))
    }
    if (this.#stop.aborted) {
      this.#owing = true
      throw this.#stop.reason
    }
    if (!answer.granted) return this.#onRefused(answer)
    const { lease: record } = answer
    const { heartbeat } = this.#wish
    const at = moment(clock)
    this.#state = reduce(this.#state, {
      type: 'granted',
      sent,
      at,
      ttl: effectiveTtl(ttl, record),
      heartbeat,
    })
    this.#owing = this.#state.phase !== 'held'
    if (this.#state.phase === 'held')
      return this.#onGranted(new HeldLease(this.#context, this.#wish, record, this.#state), answer, attempt)
    return this.#onFailed(
      new LeaseError('store-unavailable', 'the grant came after its deadline', { resource }),
    )
  }

  #dispatchAsk(): number {
    this.#state = reduce(this.#state, { type: 'ask' })
    return this.#attempts
  }

  get #attempts(): number {
    return 'attempts' in this.#state ? this.#state.attempts : 0
  }

  /** Less than a millisecond is nothing: a timer that fired a little early must not make us ask in vain. */
  get #left(): number {
    const left = this.#wish.wait - (this.#context.clock.monotonic() - this.#started)
    return left < 1 ? 0 : left
  }

  #onGranted(
    lease: HeldLease,
    { replaced, lease: { token, expiresAt } }: Grant,
    attempts: number,
  ): HeldLease {
    const { clock, emit } = this.#context
    this.#lease = lease
    if (replaced?.state === 'expired') emit(this.#ask, { type: 'expired', lease: replaced })
    const waited = clock.monotonic() - this.#started
    emit(this.#ask, { type: 'acquired', token, expiresAt, attempts, waited })
    if (this.#endedEarly) lease.endedByStore()
    return lease
  }

  #onRefused(refusal: Refusal): Refusal {
    this.#state = reduce(this.#state, { type: 'refused' })
    this.#owing = refusal.place !== null && this.#context.store.supports.queue
    const { holder, place } = refusal
    if (!this.#refusal && this.#wish.wait > 0)
      this.#context.emit(this.#ask, { type: 'waiting', holder, place })
    this.#refusal = refusal
    if (this.#wish.wait > 0) this.#context.line?.watch(this.#ask)
    return refusal
  }

  #onFailed(error: LeaseError): LeaseError {
    this.#state = reduce(this.#state, { type: 'refused' })
    this.#context.emit(this.#ask, { type: 'error', operation: 'acquire', error, retryable: error.retryable })
    return error
  }

  /** How long to sleep at the most before asking again; throws when asking again is not to be. */
  #pauseAfter(outcome: Refusal | LeaseError): number {
    const { retry, wait } = this.#wish
    const failed = outcome instanceof LeaseError
    if (wait === 0 || this.#left <= 0 || (failed && !outcome.retryable)) throw this.#reason(outcome)
    if (!failed && this.#context.store.supports.push)
      return Math.min(outcome.retryIn ?? Infinity, POLL_BEHIND_PUSH_MS)
    const pause = retry(this.#attempts)
    if (pause === null) throw this.#reason(outcome)
    return failed ? pause : Math.min(outcome.retryIn ?? Infinity, pause)
  }

  #reason(outcome: Refusal | LeaseError): LeaseError {
    const { resource } = this.#wish
    const refusal = outcome instanceof LeaseError ? this.#refusal : outcome
    if (outcome instanceof LeaseError && (!refusal || this.#left > 0)) return outcome
    const holder = refusal?.holder
    const who = holder ? `held by ${holder.owner}` : 'kept for another in line'
    return new LeaseError('lease-held', `${resource} is ${who}`, {
      resource,
      ...(holder && { holder }),
      ...(outcome instanceof LeaseError && { cause: outcome }),
    })
  }

  #giveUp(): void {
    this.#context.giveUp(this.#ask.id, this.#wish)
  }

  /** Our release may overtake a slow request; what that gets us after all is given back as well. */
  #releaseIfLate(call: Promise<Answer>): void {
    call.then(
      (late) => {
        if (this.#over && !this.#lease && (late.granted || late.place !== null)) this.#giveUp()
      },
      () => {},
    )
  }
}
