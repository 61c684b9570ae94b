import { onAbort } from '../base/abort.ts'
import { refuse } from '../base/arguments.ts'
import { type Clock, type Moment, moment } from '../base/clock.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { lostInJson } from '../base/json-value.ts'
import { pauseUntilAborted } from '../base/pause.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { Renewal } from '../core/index.ts'
import type { KeepStore } from '../core/keep-lease.ts'
import { type ApiResponse, retryAfterOf, unexpected } from './api.ts'
import { TIMES } from './lock-messages.ts'
import { expectShape, type LockRequests, type LockRequestsOptions } from './lock-requests.ts'
import type { Demand } from './lock-state.ts'
import { longestWait, onFailedWait } from './longest-wait.ts'
import {
  CUT_OFF_MS,
  LONGEST_DECISION_MS,
  MOST_WAIT_DOUBLINGS,
  RESPONSE_MS,
  SHORTEST_REQUEST_WAIT_MS,
  SHORTEST_WAIT_MS,
} from './rare-options.ts'
import { createSaveSequence, type SaveSequence } from './save-sequence.ts'

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

const HELD = { ...TIMES, token: 'number' } as const

const DECISIONS: ReadonlyMap<unknown, Demand> = new Map([
  ['handover_declined', 'declined'],
  ['handover_unanswered', 'unanswered'],
])

/** What a wait reports. */
export interface WaitListeners {
  /** It is about to wait. */
  readonly onWaiting?: () => void
  /** A request failed, and another one follows. */
  readonly onFailure?: (error: LeaseError) => void
}

/** The requests of a tab that wants the lock of a document, or has it. */
export class HoldRequests implements KeepStore {
  readonly #options: HoldRequestsOptions
  readonly #requests: LockRequests
  readonly #sequences: SaveSequence
  /** Cuts off the requests that were sent before a withdrawal. */
  #sent = new AbortController()
  #withdrawal: Promise<unknown> | undefined
  /** When the holder has decided at the latest about a demand. */
  #answerBy = 0
  /** Sets the time after which a demand fails. */
  #limitDemand = () => {}

  constructor(options: HoldRequestsOptions, requests: LockRequests) {
    this.#options = options
    this.#requests = requests
    this.#sequences = createSaveSequence(options.clock)
  }

  /**
   * Requests the lock, and waits in the server's queue for at most `waitMs`. `null`: another tab has it. After `stop`, a
   * request that was sent may still be granted: the caller then releases it.
   */
  async acquire(waitMs: number, stop: AbortSignal, listeners: WaitListeners = {}): Promise<Grant | null> {
    if (waitMs === 0) return this.#ask(0, stop)
    const { url, clock } = this.#options
    const giveUpAt = clock.monotonic() + waitMs
    let isWaiting = false
    let failures = 0
    for (let failure: LeaseError | undefined; ; ) {
      const sentAt = clock.monotonic()
      const left = giveUpAt - sentAt
      if (left < 1 && failure) throw failure
      if (left < 1) return null
      try {
        const grant = await this.#ask(isWaiting ? Math.min(left, longestWait(url)) : 0, stop)
        // The deadline counts from when a request was sent, and this one has waited: another one renews the lease.
        const renewed = grant && isWaiting && !stop.aborted ? await this.#ask(0, stop) : grant
        if (renewed) return renewed
        failure = undefined
        failures = 0
        if (!isWaiting) {
          // It was given up meanwhile, and what the page shows now is not about this request.
          stop.throwIfAborted()
          isWaiting = true
          listeners.onWaiting?.()
          continue
        }
      } catch (error) {
        failure = asLeaseError(error)
        if (stop.aborted || !failure.retryable) throw failure
        if (isWaiting) onFailedWait(url, failure, clock.monotonic() - sentAt)
        failures = Math.min(failures + 1, MOST_WAIT_DOUBLINGS)
        listeners.onFailure?.(failure)
      }
      stop.throwIfAborted()
      // A server that is down, or lets nobody wait, answers at once.
      const pause = SHORTEST_WAIT_MS * 2 ** failures * (failures ? 0.5 + clock.random() : 1)
      const rest = sentAt + Math.max(pause, retryAfterOf(failure)) - clock.monotonic()
      if (rest > 0) await pauseUntilAborted(clock, Math.min(left, rest), stop)
    }
  }

  /** Requests the lock that another tab holds. Resolves when that is decided. */
  async demand(how: 'takeover' | 'request', stop: AbortSignal): Promise<Grant | Demand> {
    const { clock } = this.#options
    const earlier = this.#withdrawal
    let sent = moment(clock)
    let response: ApiResponse
    try {
      response = await this.#askHolder(how, stop, () => {
        sent = moment(clock)
      })
    } catch (error) {
      // The response may be lost, and the lock this tab's.
      const isUnclear = asLeaseError(error).code === 'store-unavailable' && this.#withdrawal === earlier
      const grant = isUnclear && (await this.#ask(0, stop))
      if (grant) return grant
      throw error
    }
    const decision = DECISIONS.get(response.body.error)
    if (decision) return decision
    const grant = { lease: this.#leaseOf(response), sent }
    // The decision took a while, and the deadline counts from when the request was sent.
    return stop.aborted ? grant : ((await this.#ask(0, stop)) ?? 'failed')
  }

  /** The holder has asked for time, and answers within this time. So `demand` waits for longer. */
  extendDemand(answerWithinMs: number): void {
    this.#answerBy = this.#options.clock.monotonic() + answerWithinMs
    this.#limitDemand()
  }

  /**
   * Sends a demand again until it is decided, because proxies end requests that stay open for long. The server goes on
   * with the same question to the holder.
   */
  async #askHolder(how: 'takeover' | 'request', stop: AbortSignal, onSend: () => void): Promise<ApiResponse> {
    const { url, clock } = this.#options
    const { lockPath } = this.#requests
    const withdrawal = this.#withdrawal
    const ending = new AbortController()
    let cancelLimit = () => {}
    this.#limitDemand = () => {
      cancelLimit()
      const leftMs = this.#answerBy + RESPONSE_MS - clock.monotonic()
      cancelLimit = clock.setTimer(() => ending.abort(Error('no answer in time')), leftMs, true)
    }
    /** The server has the request. */
    let isOpen = false
    try {
      for (let failures = 0; ; stop.throwIfAborted()) {
        let sentAt = clock.monotonic()
        const describe = () => {
          const { grace_ms, answer_within_ms } = this.#requests.terms
          sentAt = clock.monotonic()
          if (!isOpen) this.extendDemand(decisionMs(how === 'takeover' ? grace_ms : answer_within_ms))
          onSend()
          const waitMs = Math.min(longestWait(url), this.#answerBy - sentAt)
          return demandWithin(`${lockPath}/${how}`, Math.max(waitMs, SHORTEST_REQUEST_WAIT_MS))
        }
        try {
          const response = await this.#post(describe, stop, ending)
          const { error, answer_within_ms } = response.body
          if (error !== 'handoff_pending') return response
          this.extendDemand(decisionMs(answer_within_ms))
          failures = 0
          isOpen = true
        } catch (cause) {
          const now = clock.monotonic()
          isOpen ||= now - sentAt >= SHORTEST_REQUEST_WAIT_MS
          const isOver = stop.aborted || ending.signal.aborted || this.#withdrawal !== withdrawal
          if (!isOpen || isOver || asLeaseError(cause).code !== 'store-unavailable') throw cause
          onFailedWait(url, cause, now - sentAt)
          const rest = sentAt + SHORTEST_WAIT_MS * 2 ** failures - now
          failures = Math.min(failures + 1, MOST_WAIT_DOUBLINGS)
          if (rest > 0) await pauseUntilAborted(clock, rest, stop)
          if (ending.signal.aborted) throw cause
        }
      }
    } finally {
      cancelLimit()
      this.#limitDemand = () => {}
    }
  }

  /** The lease that this tab had, if the server still counts it as this tab's. */
  async resume(): Promise<Grant | null> {
    const sent = moment(this.#options.clock)
    const renewal = await this.renew()
    return renewal.ok ? { lease: renewal.lease, sent } : null
  }

  async renew(): Promise<Renewal> {
    const { observed, lockPath: path } = this.#requests
    const response = await observed({ method: 'PUT', path, body: { name: this.#options.name() ?? null } })
    // There is no lock, it has expired, another tab has it, or this one may not have it any more.
    const isOver = [403, 404].includes(response.status)
    return isOver ? { ok: false, holders: [] } : { ok: true, lease: this.#leaseOf(response) }
  }

  async release({ id }: { readonly id: string }) {
    const { api, lockPath } = this.#requests
    const body = { token: Number(id) }
    const response = await api({ method: 'POST', path: `${lockPath}/release`, body, keepalive: true })
    // 403 and 409: another tab, or a later grant, has the lock. This lease has ended before.
    if (![403, 409].includes(response.status)) expectSuccess(response)
    return { ended: { state: 'released' } as const }
  }

  /** Gives up whatever this tab has or waits for. */
  async withdraw(): Promise<void> {
    const { api, lockPath: path } = this.#requests
    const sent = this.#sent
    this.#sent = new AbortController()
    this.#withdrawal = api({ method: 'DELETE', path, keepalive: true })
    await this.#withdrawal
    // Not at once: a request that arrives at the server late may still be granted, and somebody must see that.
    this.#options.clock.setTimer(() => sent.abort(), CUT_OFF_MS, true)
  }

  async save(content: unknown, token: number, mayRepeat = true): Promise<void> {
    checkJson(content)
    const { api, path } = this.#requests
    const sequences = this.#sequences
    const sequence = sequences.next()
    const body = { content, token, sequence }
    const response = await api({ method: 'PUT', path, body, keepalive: true })
    const { error, sequence: stored } = response.body
    if (error === 'stale_token')
      throw new LeaseError('stale-token', 'not saved: another tab had the lock since')
    if (error === 'not_locked_by_user') throw new LeaseError('lease-lost', 'not saved: this tab has no lock')
    if (error !== 'stale_save' || typeof stored !== 'number') return expectSuccess(response)
    // A later call was faster, and its content is what the caller wants to be stored.
    if (sequences.isOwn(stored)) return
    // The stored save is from before a reload. This call is the latest wish of the page, not a delayed request.
    const isLatest = sequences.isLatest(sequence)
    sequences.continueAfter(stored)
    if (isLatest && mayRepeat) return this.save(content, token, false)
    throw new LeaseError('stale-save', 'not saved: a newer save of this lock is stored')
  }

  async answer(requestId: string, answer: { granted: boolean } | { postpone_ms: number }): Promise<void> {
    const { api, lockPath } = this.#requests
    const body = { request_id: requestId, ...answer }
    expectSuccess(await api({ method: 'POST', path: `${lockPath}/request/answer`, body }))
  }

  async #ask(waitMs: number, stop: AbortSignal): Promise<Grant | null> {
    const sent = moment(this.#options.clock)
    const query = waitMs > 0 ? `?wait=${Math.ceil(waitMs) / 1000}` : ''
    const path = this.#requests.lockPath + query
    const response = await this.#post(() => ({ path, limit: waitMs + RESPONSE_MS }), stop)
    return response.status === 409 ? null : { lease: this.#leaseOf(response), sent }
  }

  /** `describe` is called when the request is sent. `ending` ends it before its limit. */
  async #post(
    describe: () => DescribedRequest,
    stop: AbortSignal,
    ending = new AbortController(),
  ): Promise<ApiResponse> {
    const { former, name } = this.#options
    const { keepSession, observed } = this.#requests
    // A withdrawal that arrives later would end what this request is granted.
    await this.#withdrawal?.catch(() => {})
    await former
    await keepSession()
    stop.throwIfAborted()
    const { signal } = this.#sent
    const unlisten = onAbort(signal, () => ending.abort(signal.reason))
    const body = { name: name() }
    const request = { method: 'POST', ...describe(), body, signal: ending.signal } as const
    return observed(request).finally(unlisten)
  }

  #leaseOf(response: ApiResponse): LeaseRecord {
    const { token, expires_in_ms: remaining } = expectShape(response, HELD)
    // All that is read of it. The server releases by token.
    return { resource: this.#options.roomId, id: String(token), token, remaining } as LeaseRecord
  }
}

interface DescribedRequest {
  readonly path: string
  readonly limit: number
}

function demandWithin(path: string, waitMs: number): DescribedRequest {
  return { path: `${path}?wait=${Math.ceil(waitMs) / 1000}`, limit: waitMs + RESPONSE_MS }
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
  const lost = lostInJson(content)
  if (lost) refuse('content', 'a JSON value', content, lost)
}

/** How long the holder has, as the server says it. */
function decisionMs(answered: unknown): number {
  return Number.isFinite(answered) ? Number(answered) : LONGEST_DECISION_MS
}
