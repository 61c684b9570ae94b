import { bounded, CALL_LIMIT_MS, type Stop } from './bounded.ts'
import { type Moment, moment } from './clock.ts'
import type { Context } from './context.ts'
import { asLeaseError, LeaseError } from './errors.ts'
import { HeldLease } from './held-lease.ts'
import type { Wish } from './options.ts'
import { FREE, type LeaseState, reduce } from './state.ts'
import type { Answer, Ask, Grant, Refusal } from './store.ts'
import { Bell, type LocalLine } from './waiting.ts'

/** A push may be lost; a waiter asks again after this long whatever it was told. */
const POLL_BEHIND_PUSH_MS = 5000

/**
 * One asker's way to a lease. Every attempt carries the same id, so that asking again after a lost answer is
 * harmless: the store grants the same lease again. Between attempts the asker sleeps until the store wakes it,
 * the holder's expiry comes, or, where the store cannot push, the backoff is over.
 */
export async function acquire(
  shared: Context | Promise<Context>,
  wish: Wish,
  stop: Stop,
  started: number,
): Promise<HeldLease> {
  const context = shared instanceof Promise ? await shared : shared
  const { clock, store, line, emit } = context
  const { resource, owner, ttl, metadata, wait, retry } = wish
  const bell = new Bell(clock)
  let state: LeaseState = FREE
  let attempts = 0
  let granted: HeldLease | undefined
  let lastRefusal: Refusal | undefined
  let endedEarly = false
  let over = false
  /** The store may keep a lease, a reservation or a place in line for our id. */
  let owing = false

  const ask: Ask = {
    resource,
    id: crypto.randomUUID(),
    owner,
    ttl,
    metadata,
    ...(wait > 0 && store.supports.queue && { wake: (inMs: number) => bell.ring(inMs) }),
    lost: () => {
      endedEarly = true
      if (granted) HeldLease.endedByStore(granted)
    },
  }

  try {
    for (;;) {
      if (line) await localTurn(line)
      const sent = moment(clock)
      state = reduce(state, { type: 'ask' })
      emit(ask, { type: 'attempt', attempt: ++attempts }, sent.wall)
      // The answer will tell all that earlier wake-ups told; later ones must stay latched.
      bell.reset()
      const call = store.acquire(ask, stop)
      owing = true
      let outcome: Answer | HeldLease | LeaseError
      try {
        outcome = await bounded(
          clock,
          call,
          Math.min(CALL_LIMIT_MS, ttl, wait ? left() : ttl),
          resource,
          stop,
        )
      } catch (cause) {
        // Our release may overtake a slow request; what that gets us after all is given back as well.
        call.then(
          () => over && !granted && context.giveUp(ask.id, wish),
          () => {},
        )
        outcome = asLeaseError(cause, resource)
      }
      if (stop.reason) throw stop.reason
      if (outcome instanceof LeaseError) onFailed(outcome)
      else if (outcome.granted) outcome = onGranted(outcome, sent)
      else onRefused(outcome)
      if (outcome instanceof HeldLease) return outcome
      await sleep(pauseAfter(outcome), outcome)
    }
  } finally {
    over = true
    line?.leave(resource, bell)
    if (owing) context.giveUp(ask.id, wish)
  }

  /** Where the store keeps no line, the manager's own is first in, first out, and only its head asks. */
  async function localTurn(line: LocalLine): Promise<void> {
    if (wait > 0) {
      for (let place = line.place(resource, bell); place > 0; place = line.place(resource, bell)) {
        await sleep(Infinity, onRefused({ granted: false, holder: null, place, retryIn: null }))
        bell.reset()
      }
    } else if (line.has(resource)) {
      const [holder = null] = await bounded(clock, store.read([resource]), CALL_LIMIT_MS, resource, stop)
      throw reason({ granted: false, holder, place: null, retryIn: null })
    }
  }

  function onGranted({ lease, replaced }: Grant, sent: Moment): HeldLease | LeaseError {
    const { expiresAt, remaining } = lease
    const at = moment(clock)
    state = reduce(state, { type: 'granted', sent, at, wish, remaining })
    if (state.phase !== 'held')
      return onFailed(new LeaseError('store-unavailable', 'the grant came late', { resource }))
    granted = new HeldLease(context, wish, lease, state)
    owing = false
    if (replaced?.state === 'expired') emit(ask, { type: 'expired', lease: replaced }, at.wall)
    emit(granted, { type: 'acquired', expiresAt, attempts, waited: at.mono - started }, at.wall)
    if (endedEarly) HeldLease.endedByStore(granted)
    return granted
  }

  function onRefused(refusal: Refusal): Refusal {
    state = reduce(state, { type: 'refused' })
    const { holder, place } = refusal
    owing = place !== null && store.supports.queue
    if (wait > 0) {
      if (!lastRefusal) emit(ask, { type: 'waiting', holder, place })
      line?.watch(ask)
    }
    lastRefusal = refusal
    return refusal
  }

  function onFailed(error: LeaseError): LeaseError {
    state = reduce(state, { type: 'refused' })
    emit(ask, { type: 'error', operation: 'acquire', error })
    return error
  }

  /** How long to sleep at the most before asking again; throws when asking again is not to be. */
  function pauseAfter(outcome: Refusal | LeaseError): number {
    const failed = outcome instanceof LeaseError
    const pause = !failed && store.supports.push ? POLL_BEHIND_PUSH_MS : retry(attempts)
    if (pause === null || (failed && !outcome.retryable)) throw reason(outcome)
    return failed ? pause : Math.min(outcome.retryIn ?? Infinity, pause)
  }

  async function sleep(ms: number, outcome: Refusal | LeaseError): Promise<void> {
    await bell.sleep(Math.min(ms, left()), stop.signal)
    if (left() === 0) throw reason(outcome)
  }

  /** Less than a millisecond is nothing: a timer that fired a little early must not make us ask in vain. */
  function left(): number {
    const rest = wait - (clock.monotonic() - started)
    return rest < 1 ? 0 : rest
  }

  function reason(outcome: Refusal | LeaseError): LeaseError {
    const failed = outcome instanceof LeaseError
    const refusal = failed ? lastRefusal : outcome
    // A wait that ends while the store is silent has still been for a lease that another holds.
    if (failed && (!refusal || left() > 0)) return outcome
    const holder = refusal?.holder
    const how = holder ? `held by ${holder.owner}` : 'kept for another'
    return new LeaseError('lease-held', `${resource} is ${how}`, {
      resource,
      holder,
      ...(failed && { cause: outcome }),
    })
  }
}
