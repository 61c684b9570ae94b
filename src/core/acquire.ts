import type { Stop } from '../base/abort.ts'
import { answerWithin, noAnswer } from '../base/answer-within.ts'
import { refuse } from '../base/arguments.ts'
import { type Moment, moment, timeOfDay } from '../base/clock.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { FIRST_CALL_MS, POLL_BEHIND_PUSH_MS, POLL_LATER_PER_PLACE_MS } from '../base/options.ts'
import { randomId } from '../base/random-id.ts'
import type { LeaseRecord } from '../base/records.ts'
import { WakeSignal } from '../base/wake-signal.ts'
import type { Context } from './context.ts'
import { isHeldHere, type Keeper, keepGrant } from './keeper.ts'
import type { CheckedOptions } from './options.ts'
import type { Ask, Refusal } from './store.ts'

/**
 * One acquisition. Every attempt carries the same id, so that a repeat after a lost answer is harmless: the store
 * grants the same lease again. Between attempts the caller sleeps until the store wakes it, until the holder's lease
 * expires, or, if the store cannot push, until the backoff ends.
 */
export async function acquire(
  context: Context,
  options: CheckedOptions,
  stop: Stop,
  started: number,
): Promise<Keeper> {
  const { clock, store, queue, callTimeout, endsWithProcess, emit } = context
  const { resource, owner, ttl, metadata, share, atLeast, lockDelay, replace, wait, retry } = options
  if ((share || atLeast || lockDelay) && !store.supports.share)
    refuse('share', `no share, atLeast or lockDelay: the ${store.kind} store has none`, share)
  const wakeSignal = new WakeSignal(clock)
  let attempts = 0
  let granted: Keeper | undefined
  let lastRefusal: Refusal | undefined
  let refusedAt = 0
  let failure: LeaseError | undefined
  let endedEarly = false
  /** The store may keep a lease, a reservation or a place in the queue for our id. */
  let owing = false
  /** The attempt waits in this process, because too many requests are in flight. */
  let queued = false
  let sent: Moment
  /** Attempts whose answers were not waited for. */
  const unanswered = new Set<Promise<unknown>>()

  const ask: Ask = {
    resource,
    id: randomId(),
    owner,
    ttl,
    metadata,
    share,
    atLeast,
    lockDelay,
    replace,
    endsWithProcess,
    ...(wait > 0 && store.supports.queue && { wake: (inMs: number) => wakeSignal.wake(inMs) }),
    queued(isQueued) {
      queued = isQueued
      // What it is granted counts from now.
      sent = moment(clock)
      owing ||= !queued
      if (queued) emit(ask, { type: 'waiting', reason: 'store-busy', holder: null, holders: [], place: null })
    },
    lost: () => {
      endedEarly = true
      granted?.lose('ended')
    },
  }

  try {
    for (;;) {
      // A steal is granted past all waiters.
      if (queue && !replace)
        await queue.turn(resource, wakeSignal, {
          waits: wait > 0,
          waitAt: (place) =>
            sleep(Infinity, onRefused({ granted: false, holders: [], place, retryIn: null })),
          answer: (read) => answerWithin(read(stop), callTimeout, context, resource, stop),
          refused: (refusal) => reason(onRefused(refusal)),
        })
      queued = stop.limited = false
      sent = moment(clock)
      emit(ask, { type: 'attempt', attempt: ++attempts })
      // The answer covers earlier wake-ups. Later ones must be kept.
      wakeSignal.reset()
      const call = store.acquire(ask, stop)
      owing ||= !queued
      let outcome: Refusal | LeaseError
      const patience = wait ? Math.max(left(), attempts > 1 ? 0 : FIRST_CALL_MS) : Infinity
      try {
        // A store that queues requests limits the time of those that it has sent.
        const answer = await answerWithin(
          call,
          Math.min(queued ? Infinity : callTimeout, patience),
          context,
          resource,
          stop,
        )
        stop.throwIfAborted()
        if (answer.granted) {
          const { lease, replaced } = answer
          if (replaced?.state === 'expired') emit(ask, { type: 'expired', lease: replaced })
          granted = keepGrant(context, options, lease, { sent, started, attempts })
          owing = false
          if (endedEarly) granted.lose('ended')
          return granted
        }
        outcome = onRefused(answer)
      } catch (cause) {
        unanswered.add(call)
        const forget = () => unanswered.delete(call)
        call.then(forget, forget)
        stop.throwIfAborted()
        outcome =
          queued && left() === 0
            ? // The store may keep the request back because an earlier one got no answer.
              (failure ??
              noAnswer(store, `the store is busy: not sent within ${Math.ceil(patience)} ms`, resource))
            : asLeaseError(cause, resource)
        failure = outcome
        emit(ask, { type: 'error', operation: 'acquire', error: outcome })
      }
      await sleep(pauseAfter(outcome), outcome)
    }
  } catch (error) {
    // The store need not send what nobody waits for.
    stop.abort(error as LeaseError)
    if (owing) context.giveUp(ask, options)
    // Our release may overtake a slow request. What that request is granted later is released as well.
    for (const call of unanswered) context.giveUp(ask, options, call)
    throw error
  } finally {
    queue?.leave(resource, wakeSignal)
  }

  function onRefused(refusal: Refusal): Refusal {
    const { holders, place, keptFor, polls } = refusal
    if (polls) emit(ask, { type: 'error', operation: 'watch', error: polls })
    const [holder = null] = holders
    owing = place !== null && store.supports.queue
    if (wait > 0) {
      if (!lastRefusal) emit(ask, { type: 'waiting', reason: 'held', holder, holders, place, keptFor })
      queue?.watch(ask)
    }
    lastRefusal = refusal
    refusedAt = clock.monotonic()
    return refusal
  }

  /** The longest sleep before the next attempt. Throws if there is to be none. */
  function pauseAfter(outcome: Refusal | LeaseError): number {
    const failed = outcome instanceof LeaseError
    const isPushed = store.supports.push && (!queue || store.watch)
    const pause =
      !failed && isPushed
        ? POLL_BEHIND_PUSH_MS + POLL_LATER_PER_PLACE_MS * (outcome.place ?? 0)
        : retry(attempts)
    if (pause === null || (failed && !outcome.retryable)) throw reason(outcome)
    return failed ? pause : Math.min(outcome.retryIn ?? Infinity, pause)
  }

  async function sleep(ms: number, outcome: Refusal | LeaseError): Promise<void> {
    await wakeSignal.sleep(Math.min(ms, left()), stop.signal)
    if (left() === 0) throw reason(outcome)
  }

  /** Less than a millisecond counts as zero: a timer that fired slightly early must not cause a useless request. */
  function left(): number {
    const rest = wait - (clock.monotonic() - started)
    return rest < 1 ? 0 : rest
  }

  function reason(outcome: Refusal | LeaseError): LeaseError {
    const failed = outcome instanceof LeaseError
    const refusal = failed ? lastRefusal : outcome
    // A wait that ends while the store is silent was still a wait for a lease that another caller holds.
    if (failed && (!refusal || left() > 0)) return outcome
    const { holders = [] } = refusal ?? {}
    const keptFor =
      refusal?.keptFor && Math.max(1, Math.round(refusal.keptFor - clock.monotonic() + refusedAt))
    const error = new LeaseError('lease-held', `${resource} is ${howHeld(holders, keptFor)}`, {
      resource,
      holders,
      ...(failed && { cause: outcome }),
    })
    return Object.assign(error, keptFor && { keptFor })
  }
}

/** Leases are not re-entrant. A caller that forgets it waits for itself, so the message says it. */
function howHeld(holders: readonly LeaseRecord[], keptFor?: number): string {
  const [first] = holders
  if (!first)
    return keptFor ? `kept for another ${keptFor} ms (atLeast or lockDelay)` : 'reserved for another waiter'
  const { id, owner, acquiredAt } = holders.find((holder) => isHeldHere(holder.id)) ?? first
  const others = holders.length > 1 ? ` and ${holders.length - 1} more` : ''
  if (!isHeldHere(id)) return `held by ${owner}${others}`
  return `held by this process, since ${timeOfDay(acquiredAt)}: release it first`
}
