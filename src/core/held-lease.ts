import { bounded, CALL_LIMIT_MS } from './bounded.ts'
import { type Context, moment } from './context.ts'
import { asLeaseError, LeaseError } from './errors.ts'
import type { Lease, LeaseRecord, LossReason } from './lease.ts'
import type { Wish } from './options.ts'
import { releaseInTime } from './release.ts'
import { type Action, type Held, hasPassed, type LeaseState, type Moment, nextDue, reduce } from './state.ts'

const LOSS: Record<LossReason, string> = {
  refused: 'the store refused it',
  deadline: 'its deadline passed without a renewal',
  ended: 'another ended it',
  'gave-up': 'renewing was given up',
}

export interface HeldLease {
  readonly lease: Lease
  /** The store told that the lease was ended by another. */
  endedByStore(): void
}

/** Keeps a granted lease: feeds the reducer with answers and time, and does what the state calls for. */
export function holdLease(context: Context, wish: Wish, record: LeaseRecord, granted: Held): HeldLease {
  const { clock, store, emit, held, line } = context
  const { resource, id, owner, token, metadata, acquiredAt } = record
  const { ttl, heartbeat, retry } = wish
  /** So that several renewals fit between the first failure and the deadline. */
  const answerLimit = Math.min(CALL_LIMIT_MS, ttl / 6)
  const since = clock.monotonic()
  let { expiresAt } = record
  let state: LeaseState = granted
  let lossError: LeaseError | undefined
  let lastFailure: LeaseError | undefined
  /** Renewals that failed since the last one that succeeded. */
  let failures = 0
  /** Made when first asked for: most leases end without anybody looking at their signal. */
  let loss: AbortController | undefined
  let cancelTimer = () => {}
  let released: Promise<void> | undefined

  const lease: Lease = {
    resource,
    id,
    owner,
    token,
    metadata,
    acquiredAt,
    get expiresAt() {
      return expiresAt
    },
    get held() {
      if (state.phase === 'held' && hasPassed(state, moment(clock))) tick()
      return state.phase === 'held'
    },
    get signal() {
      if (!loss) {
        loss = new AbortController()
        if (lossError) loss.abort(lossError)
      }
      return loss.signal
    },
    async renew() {
      if (!lease.held)
        throw lossError ?? new LeaseError('lease-lost', `${resource} was released`, { resource })
      await bounded(clock, beat(), { ms: answerLimit, stop: lease.signal, resource })
      if (lossError) throw lossError
    },
    release() {
      released ??= release()
      return released
    },
    async [Symbol.asyncDispose]() {
      // The failure was told by an event, and the lease ends with its TTL; the caller's own result counts.
      await lease.release().catch(() => {})
    },
  }
  held.add(lease)
  arm()
  return { lease, endedByStore: () => dispatch({ type: 'end', reason: 'ended' }) }

  function dispatch(action: Action): void {
    const before = state
    state = reduce(state, action)
    arm()
    if (state.phase === 'lost' && before.phase === 'held') onLost(state.reason)
  }

  function arm(): void {
    cancelTimer()
    const due = state.phase === 'held' ? nextDue(state) : Infinity
    if (due < Infinity) cancelTimer = clock.setTimer(tick, Math.max(0, due - clock.monotonic()), true)
  }

  function tick(): void {
    const at = moment(clock)
    dispatch({ type: 'tick', at })
    if (state.phase !== 'held') return
    const { beatAt, dangerAt, until } = state
    if (at.mono >= beatAt) beat().catch(() => {})
    if (at.mono < dangerAt) return
    dispatch({ type: 'warned' })
    emit(lease, { type: 'warning', code: 'lease-in-danger', token, left: until.mono - at.mono })
  }

  /** Sends one renewal. Whenever its answer comes, it counts from its own send time. */
  async function beat(): Promise<void> {
    const sent = moment(clock)
    dispatch({ type: 'beat', at: sent, again: sent.mono + answerLimit })
    try {
      const renewal = await store.renew({ resource, id, ttl })
      if (renewal.ok) onRenewed(sent, renewal.lease)
      else dispatch({ type: 'end', reason: 'refused' })
    } catch (cause) {
      const error = asLeaseError(cause, resource)
      onRenewFailed(error)
      throw error
    }
  }

  function onRenewed(sent: Moment, renewed: LeaseRecord): void {
    const at = moment(clock)
    const left = state.phase === 'held' ? state.until.mono - at.mono : 0
    dispatch({ type: 'granted', sent, at, ttl: effectiveTtl(ttl, renewed), heartbeat })
    if (state.phase !== 'held') return
    failures = 0
    expiresAt = renewed.expiresAt
    emit(lease, { type: 'renewed', token, expiresAt, left: left === Infinity ? null : left })
  }

  function onRenewFailed(error: LeaseError): void {
    if (state.phase !== 'held') return
    lastFailure = error
    emit(lease, { type: 'error', operation: 'renew', error })
    const pause = retry(++failures)
    const at = moment(clock)
    if (pause === null) dispatch({ type: 'end', reason: 'gave-up' })
    else dispatch({ type: 'beat', at, again: at.mono + pause })
  }

  function onLost(reason: LossReason): void {
    const error = new LeaseError('lease-lost', `${resource} was lost: ${LOSS[reason]}`, {
      resource,
      ...(lastFailure && { cause: lastFailure }),
    })
    lossError = error
    held.delete(lease)
    line?.ring(resource)
    loss?.abort(error)
    emit(lease, { type: 'lost', token, reason, error, heldFor: clock.monotonic() - since })
  }

  async function release(): Promise<void> {
    if (!lease.held) {
      // The work has ended by now; the store may still count the lease as live.
      context.giveUp(id, wish)
      return
    }
    const heldFor = clock.monotonic() - since
    dispatch({ type: 'release' })
    held.delete(lease)
    const { ended, failures: unanswered } = await releaseInTime(context, id, wish)
    if (ended?.state === 'released' || unanswered > 0) emit(lease, { type: 'released', token, heldFor })
    else onLost('refused')
    line?.ring(resource)
  }
}

/** A store may grant less than was asked for, or (`null`) a lease without an end of its own. */
export function effectiveTtl(ttl: number, { remaining }: LeaseRecord): number {
  return remaining === null ? Infinity : Math.min(ttl, remaining)
}
