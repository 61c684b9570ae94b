import { onAbort } from '../base/abort.ts'
import { refuse } from '../base/arguments.ts'
import { type Clock, type Moment, moment } from '../base/clock.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { pauseUntilAborted } from '../base/pause.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Renewal } from '../core/index.ts'
import type { KeepStore } from '../core/keep-lease.ts'
import { type ApiResponse, retryAfterOf, unexpected } from './api.ts'
import { TIMES } from './lock-messages.ts'
import { expectShape, type LockRequests, type LockRequestsOptions } from './lock-requests.ts'
import type { Demand } from './lock-state.ts'
import { longestWait, onFailedWait } from './longest-wait.ts'
import { createSaveSequence } from './save-sequence.ts'

export interface Grant {
  readonly lease: LeaseRecord
  /** The moment before the request was sent: the deadline counts from it. */
  readonly sent: Moment
}

export interface HoldRequestsOptions extends Pick<LockRequestsOptions, 'url' | 'roomId'> {
  readonly clock: Clock
  /** Nothing is requested before it resolves: it may end what an earlier lock of this id had. */
  readonly former?: Promise<void> | undefined
  /** The name that others see. */
  readonly name: () => string | undefined
}

/** The shortest time between two requests of one wait. Doubled with every failure in a row. */
const SHORTEST_WAIT_MS = 1000
const MOST_DOUBLINGS = 3
/** What a response may take in addition to the time that the request waits at the server. */
const RESPONSE_MS = 10_000
/** How long after a withdrawal an earlier request is cut off, if the server has not ended it. */
const CUT_OFF_MS = 1000
/** The longest time that any server gives a holder to save or to answer. One of an earlier version does not say it. */
const LONGEST_DECISION_MS = 300_000
/** A demand has a limit of its own, which the holder may extend. */
const NO_LIMIT_MS = 3_600_000

const HELD = { ...TIMES, token: 'number' } as const

const DECISIONS: Readonly<Record<string, Demand>> = {
  handover_declined: 'declined',
  handover_unanswered: 'unanswered',
}

/** The requests of a tab that wants the lock of a document, or has it. */
export interface HoldRequests extends KeepStore {
  /**
   * Requests the lock, and waits in the server's queue for at most `wait` milliseconds. `null`: another tab has it.
   * `onWaiting` is called before it waits, `onFailure` when a request failed and another one follows. After `stop`, a
   * request that was sent may still be granted: the caller then releases it.
   */
  acquire(
    wait: number,
    stop: AbortSignal,
    onWaiting?: () => void,
    onFailure?: (error: LeaseError) => void,
  ): Promise<Grant | null>
  /** Requests the lock that another tab holds. Resolves when that is decided. */
  demand(how: 'takeover' | 'request', stop: AbortSignal): Promise<Grant | Demand>
  /** The lease that this tab had, if the server still counts it as this tab's. */
  resume(): Promise<Grant | null>
  /** Gives up whatever this tab has or waits for. */
  withdraw(): Promise<void>
  save(content: unknown, token: number): Promise<void>
  /** The holder has asked for time, and answers within this time. So `demand` waits for longer. */
  extendDemand(answerWithinMs: number): void
  answer(requestId: string, answer: { granted: boolean } | { postpone_ms: number }): Promise<void>
}

export function createHoldRequests(options: HoldRequestsOptions, requests: LockRequests): HoldRequests {
  const { url, roomId, clock, former, name } = options
  const { api, path, lockPath, observed, keepSession } = requests
  const sequences = createSaveSequence(clock)
  /** Cuts off the requests that were sent before a withdrawal. */
  let pending = new AbortController()
  let withdrawal: Promise<unknown> | undefined
  let extendDemand = (_answerWithinMs: number) => {}

  return {
    async acquire(wait, stop, onWaiting, onFailure) {
      if (wait === 0) return ask(0, stop)
      const giveUpAt = clock.monotonic() + wait
      let isWaiting = false
      let failures = 0
      for (let failure: LeaseError | undefined; ; ) {
        const sentAt = clock.monotonic()
        const left = giveUpAt - sentAt
        if (left < 1 && failure) throw failure
        if (left < 1) return null
        try {
          const grant = await ask(isWaiting ? Math.min(left, longestWait(url)) : 0, stop)
          // The deadline counts from when a request was sent, and this one has waited: another one renews the lease.
          const renewed = grant && isWaiting && !stop.aborted ? await ask(0, stop) : grant
          if (renewed) return renewed
          failure = undefined
          failures = 0
          if (!isWaiting) {
            isWaiting = true
            onWaiting?.()
            continue
          }
        } catch (error) {
          failure = asLeaseError(error)
          if (stop.aborted || !failure.retryable) throw failure
          if (isWaiting) onFailedWait(url, failure, clock.monotonic() - sentAt)
          failures = Math.min(failures + 1, MOST_DOUBLINGS)
          onFailure?.(failure)
        }
        stop.throwIfAborted()
        // A server that is down, or lets nobody wait, answers at once.
        const pause = SHORTEST_WAIT_MS * 2 ** failures * (failures ? 0.5 + clock.random() : 1)
        const rest = sentAt + Math.max(pause, retryAfterOf(failure)) - clock.monotonic()
        if (rest > 0) await pauseUntilAborted(clock, Math.min(left, rest), stop)
      }
    },

    async demand(how, stop) {
      const sent = moment(clock)
      const earlier = withdrawal
      const limit = () => {
        const { grace_ms = LONGEST_DECISION_MS, answer_within_ms = LONGEST_DECISION_MS } = requests.terms
        return Number(how === 'takeover' ? grace_ms : answer_within_ms)
      }
      const late = new AbortController()
      let cancelLimit = () => {}
      extendDemand = (ms) => {
        cancelLimit()
        const end = () => late.abort(Error(`no answer within ${ms + RESPONSE_MS} ms`))
        cancelLimit = clock.setTimer(end, ms + RESPONSE_MS, true)
      }
      const onSend = () => {
        extendDemand(limit())
        return NO_LIMIT_MS
      }
      let response: ApiResponse
      try {
        response = await post(`${lockPath}/${how}`, onSend, stop, late)
      } catch (error) {
        // The response may be lost, and the lock this tab's.
        const isUnclear = asLeaseError(error).code === 'store-unavailable' && withdrawal === earlier
        const grant = isUnclear && (await ask(0, stop))
        if (grant) return grant
        throw error
      } finally {
        cancelLimit()
      }
      const decision = DECISIONS[String(response.body.error)]
      if (decision) return decision
      const grant = { lease: leaseOf(response), sent }
      // The decision took a while, and the deadline counts from when the request was sent.
      return stop.aborted ? grant : ((await ask(0, stop)) ?? 'failed')
    },

    async resume() {
      const sent = moment(clock)
      const renewal = await renew()
      return renewal.ok ? { lease: renewal.lease, sent } : null
    },

    renew,

    async release({ id }) {
      const body = { token: Number(id) }
      const response = await api({ method: 'POST', path: `${lockPath}/release`, body, keepalive: true })
      // 403 and 409: another tab, or a later grant, has the lock. This lease has ended before.
      if (![403, 409].includes(response.status)) expectSuccess(response)
      return { ended: { state: 'released' } }
    },

    async withdraw() {
      const sent = pending
      pending = new AbortController()
      withdrawal = api({ method: 'DELETE', path: lockPath, keepalive: true })
      await withdrawal
      // Not at once: a request that arrives at the server late may still be granted, and somebody must see that.
      clock.setTimer(() => sent.abort(), CUT_OFF_MS, true)
    },

    save: (content, token) => save(content, token, true),

    extendDemand: (answerWithinMs) => extendDemand(answerWithinMs),

    async answer(requestId, answer) {
      const body = { request_id: requestId, ...answer }
      expectSuccess(await api({ method: 'POST', path: `${lockPath}/request/answer`, body }))
    },
  }

  async function save(content: unknown, token: number, mayRepeat: boolean): Promise<void> {
    checkJson(content)
    const sequence = sequences.next()
    const body = { content, token, sequence }
    const response = await api({ method: 'PUT', path, body, keepalive: true })
    const { error, sequence: stored } = response.body
    if (error === 'stale_token')
      throw new LeaseError('stale-token', 'not saved: another tab had the lock since')
    if (error !== 'stale_save' || typeof stored !== 'number') return expectSuccess(response)
    // A later call was faster, and its content is what the caller wants to be stored.
    if (sequences.isOwn(stored)) return
    // The stored save is from before a reload. This call is the latest wish of the page, not a delayed request.
    const isLatest = sequences.isLatest(sequence)
    sequences.continueAfter(stored)
    if (isLatest && mayRepeat) return save(content, token, false)
    throw new LeaseError('stale-save', 'not saved: a newer save of this lock is stored')
  }

  async function ask(wait: number, stop: AbortSignal): Promise<Grant | null> {
    const sent = moment(clock)
    const query = wait > 0 ? `?wait=${Math.ceil(wait) / 1000}` : ''
    const response = await post(lockPath + query, () => wait + RESPONSE_MS, stop)
    return response.status === 409 ? null : { lease: leaseOf(response), sent }
  }

  /** `ending` ends it before its limit. */
  async function post(
    path: string,
    limit: () => number,
    stop: AbortSignal,
    ending = new AbortController(),
  ): Promise<ApiResponse> {
    // A withdrawal that arrives later would end what this request is granted.
    await withdrawal?.catch(() => {})
    await former
    await keepSession()
    stop.throwIfAborted()
    const { signal } = pending
    const unlisten = onAbort(signal, () => ending.abort(signal.reason))
    const body = { name: name() }
    return observed({ method: 'POST', path, body, limit: limit(), signal: ending.signal }).finally(unlisten)
  }

  async function renew(): Promise<Renewal> {
    const response = await observed({ method: 'PUT', path: lockPath, body: { name: name() ?? null } })
    // There is no lock, it has expired, another tab has it, or this one may not have it any more.
    const isOver = [403, 404].includes(response.status)
    return isOver ? { ok: false, holders: [] } : { ok: true, lease: leaseOf(response) }
  }

  function leaseOf(response: ApiResponse): LeaseRecord {
    const { token, expires_in_ms: remaining } = expectShape(response, HELD)
    // All that is read of it. The server releases by token.
    return { resource: roomId, id: String(token), token, remaining } as LeaseRecord
  }
}

function expectSuccess(response: ApiResponse): void {
  if (response.status !== 200 || response.body.success !== true) throw unexpected(response)
}

function checkJson(content: unknown): void {
  let text: string | undefined
  try {
    text = JSON.stringify(content)
  } catch {
    // A cycle or a BigInt.
  }
  if (text === undefined) refuse('content', 'a JSON value', content)
}
