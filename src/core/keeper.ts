import { Stop } from '../base/abort.ts'
import { answerWithin, noAnswer, settledWithin } from '../base/answer-within.ts'
import { type Moment, moment } from '../base/clock.ts'
import { asLeaseError, LeaseError, type LossReason } from '../base/errors.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Context } from './context.ts'
import type { CheckedOptions } from './options.ts'
import { releaseInTime } from './release.ts'
import { type Held, hasPassed, hold, nextDue } from './state.ts'
import type { CallOptions, RenewAsk } from './store.ts'

export type KeepOptions = Pick<CheckedOptions, 'ttl' | 'heartbeat' | 'retry'>

/** Keeps a granted lease alive by its heartbeat, until it is released or lost. */
export interface Keeper {
  /** The lease as it was granted. */
  readonly record: LeaseRecord
  readonly context: Context
  readonly options: KeepOptions
  isHeld(): boolean
  /** By the store's clock; moves with every renewal. */
  expiresAt(): number | null
  /** Aborts when the lease is lost, and before that when the manager is closed. */
  readonly told: Stop
  /** Aborts when the lease is lost, also if `close` of the manager released it under work that had not ended. */
  readonly loss: Stop
  /** Set where work runs under the lease, which releases it at its end: `close` of the manager waits for that. */
  isWorking?: boolean
  /** Called when the lease has ended, while `close` waits for its work. */
  onEnd?: () => void
  /** Renews now, in addition to the heartbeat. Calls at the same time share one renewal. */
  renew(): Promise<void>
  /** Sends one renewal, and waits for its answer. */
  renewWith(changes?: Partial<RenewAsk>): Promise<void>
  /** Rejects only if the store could not be reached; the lease then ends with its TTL. */
  release(): Promise<void>
  /** Stops the heartbeat. A later release does nothing. Returns how long the lease was held. */
  letGo(): number
  /** The lease can no longer be trusted. */
  lose(reason: LossReason): void
  /** Tells the work, and releases the lease when that has ended, at the latest after this time. */
  close(error: LeaseError, ms: number): Promise<void>
}

/** The ids of the leases that this process holds. */
const heldHere = new Set<string>()

/** Whether this process holds the lease with this id. */
export function isHeldHere(id: string): boolean {
  return heldHere.has(id)
}

/** How a lease was acquired. */
export interface Acquired {
  /** Before the request was sent. */
  readonly sent: Moment
  /** When the acquisition began, on the monotonic clock. */
  readonly started: number
  readonly attempts: number
}

/** Keeps what the store has just granted. Throws if the answer came after its own deadline. */
export function keepGrant(
  context: Context,
  options: KeepOptions,
  lease: LeaseRecord,
  { sent, started, attempts }: Acquired,
): Keeper {
  const { resource, remaining, expiresAt } = lease
  const at = moment(context.clock)
  const held = hold({ ...options, sent, at, remaining })
  if (!held) throw new LeaseError('store-unavailable', 'granted too late', { resource })
  const keeper = createKeeper(context, options, lease, held)
  context.emit(lease, { type: 'acquired', expiresAt, attempts, waited: at.mono - started })
  return keeper
}

export function createKeeper(
  context: Context,
  options: KeepOptions,
  record: LeaseRecord,
  granted: Held,
): Keeper {
  const { clock, store, callTimeout, queue, emit } = context
  const { ttl, heartbeat, retry } = options
  const { resource, id } = record
  const since = clock.monotonic()
  const loss = new Stop()
  const told = new Stop()
  /** `null`: lost or released, for good. */
  let held: Held | null
  let { expiresAt } = record
  /** Renewals that failed since the last one that succeeded. */
  let failures = 0
  let lastFailure: LeaseError | undefined
  /** The options of the renewal that was sent last, if none was answered since. */
  let unanswered: CallOptions | undefined
  let cancelTimer = () => {}
  let renewal: Promise<void> | undefined
  let released: Promise<void> | undefined

  const keeper: Keeper = {
    record,
    context,
    options,
    isHeld: () => heldAt(moment(clock)) !== null,
    expiresAt: () => expiresAt,
    told,
    loss,

    renew: () => (renewal ??= renewWith().finally(() => (renewal = undefined))),

    renewWith,

    release: () => (released ??= release()),

    letGo() {
      released = Promise.resolve()
      return end()
    },

    lose,

    async close(error, ms) {
      told.abort(error)
      if (keeper.isWorking)
        await settledWithin(new Promise<void>((resolve) => (keeper.onEnd = resolve)), ms, clock)
      // The work goes on without it.
      if (keeper.isHeld()) loss.abort(error)
      await keeper.release().catch(() => {})
    },
  }
  context.held.add(keeper)
  heldHere.add(id)
  set(granted)
  return keeper

  function set(next: Held | null): void {
    held = next
    cancelTimer()
    const due = next ? nextDue(next) : Infinity
    if (due < Infinity) cancelTimer = clock.setTimer(onTimer, Math.max(0, due - clock.monotonic()), true)
  }

  /** The state at this moment. A lease whose deadline has passed is lost. */
  function heldAt(at: Moment): Held | null {
    if (held && hasPassed(held, at)) lose('deadline')
    return held
  }

  function onTimer(): void {
    const at = moment(clock)
    const now = heldAt(at)
    if (!now) return
    const isInDanger = at.mono >= now.dangerAt
    set(isInDanger ? { ...now, dangerAt: Infinity } : now)
    if (at.mono >= now.beatAt) beat().catch(() => {})
    const remaining = now.until.mono - at.mono
    if (isInDanger) emit(record, { type: 'warning', code: 'lease-in-danger', remaining })
  }

  async function renewWith(changes?: Partial<RenewAsk>): Promise<void> {
    if (!keeper.isHeld())
      throw loss.reason ?? new LeaseError('lease-lost', `${resource} was released`, { resource })
    const answer = beat(changes)
    await answerWithin(answer, unanswered?.limited ? Infinity : callTimeout, context, resource, loss)
    // The store may have refused, or another caller may have ended the lease meanwhile.
    loss.throwIfAborted()
  }

  /** Sends one renewal. Its answer counts from its own send time, whenever it comes. */
  async function beat(changes?: Partial<RenewAsk>): Promise<void> {
    const ask = { resource, id, ttl, ...changes }
    let sent!: Moment
    const queued = (waits?: boolean) => {
      sent = moment(clock)
      // Without an answer the next renewal is sent after this long, so that several fit before the deadline. A copy of
      // one that still waits in this process would only be in the way.
      beatIn(waits ? Infinity : Math.min(callTimeout, ttl / 6))
    }
    queued()
    unanswered = { timeout: callTimeout, queued }
    try {
      const answer = await store.renew(ask, unanswered)
      if (!answer.ok) return lose('refused')
      const { lease } = answer
      const at = moment(clock)
      const before = heldAt(at)
      const next = hold({ sent, at, ttl: ask.ttl, heartbeat, remaining: lease.remaining }, before)
      if (!next) return
      set(next)
      failures = 0
      lastFailure = undefined
      unanswered = undefined
      expiresAt = lease.expiresAt
      const remaining = (before ?? next).until.mono - at.mono
      emit(record, { type: 'renewed', expiresAt, remaining: remaining === Infinity ? null : remaining })
    } catch (cause) {
      const error = asLeaseError(cause, resource)
      if (held) {
        lastFailure = error
        emit(record, { type: 'error', operation: 'renew', error })
        const pause = retry(++failures)
        if (pause === null) lose('gave-up')
        else beatIn(pause)
      }
      throw error
    }
  }

  function beatIn(ms: number): void {
    if (held) set({ ...held, beatAt: clock.monotonic() + ms })
  }

  function lose(reason: LossReason): void {
    if (held) onLost(reason, end())
  }

  function onLost(reason: LossReason, heldFor: number): void {
    const isLate = reason === 'deadline' && !lastFailure
    if (isLate && unanswered) lastFailure = noAnswer(store, 'no answer to a renewal')
    const isBusy = isLate && heartbeat < Infinity
    const isKnown = lastFailure && reason !== 'ended'
    const why = isKnown ? lastFailure?.message : isBusy && 'this process was busy or stopped'
    const message = `the lease of ${resource} was lost (${reason})${why ? `: ${why}` : ''}`
    const error = new LeaseError('lease-lost', message, { resource, cause: lastFailure, reason })
    queue?.wake(resource)
    loss.abort(error)
    told.abort(error)
    emit(record, { type: 'lost', reason, error, heldFor })
  }

  /** Returns how long the lease was held. */
  function end(): number {
    set(null)
    keeper.onEnd?.()
    context.held.delete(keeper)
    heldHere.delete(id)
    return clock.monotonic() - since
  }

  async function release(): Promise<void> {
    // The store may still count a lost lease as live.
    if (!keeper.isHeld()) return context.giveUp(record, options)
    const heldFor = end()
    const releasing = releaseInTime(context, record, options)
    context.untilDone(releasing)
    const ended = await releasing
    if (ended === 'released') emit(record, { type: 'released', heldFor })
    else onLost('refused', heldFor)
    queue?.wake(resource)
  }
}
