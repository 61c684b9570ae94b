/**
 * The part of a document's lock that acquires, keeps and gives up. A page loads it right after it has created the lock
 * (see `load-holding-browser.ts`), so that showing who edits does not wait for it. The connection for events comes
 * with it.
 */
import { type Duration, expectDuration } from '../base/duration.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { warnOnce } from '../base/warn.ts'
import type { LossReason } from '../core/index.ts'
import { type Keeper, keepLease } from '../core/keep-lease.ts'
import { MAX_POSTPONE_MS, MIN_POSTPONE_MS } from '../protocol/options.ts'
import { type ApiResponse, type Body, isSignedOut } from './api.ts'
import { HandoffRequests } from './handoff-requests.ts'
import { type Grant, HoldRequests, type HoldRequestsOptions } from './hold-requests.ts'
import { watchIdleHolder } from './idle-holder.ts'
import { endsLease, type RoomTerms } from './lock-messages.ts'
import type { LockRequests } from './lock-requests.ts'
import type { Demand, HandoffRequest } from './lock-state.ts'
import type { LockUpdates } from './lock-updates.ts'
import { isGrant, type PendingRequests, trackRequests } from './pending-requests.ts'
import { followPeople } from './presence.ts'
import { HANDOFF_MS, LATE_PART } from './rare-options.ts'
import { type ReleaseStep, runSteps } from './release-steps.ts'
import type { RoomLock } from './room-lock.ts'

export { Socket } from './socket.ts'

export interface HoldingOptions extends HoldRequestsOptions {
  readonly room: RoomLock
  readonly requests: LockRequests
  readonly updates: LockUpdates
  /** Whether a later lock has the same id. What this one gives back would then be taken from that one. */
  readonly isFollowed: () => boolean
}

export class Holding {
  readonly #options: HoldingOptions
  readonly #room: RoomLock
  readonly #requests: HoldRequests
  readonly #handoffRequests: HandoffRequests
  readonly #pending: PendingRequests
  readonly #onPeopleEvent: (event: string, data: Body) => void
  #kept: Keeper | undefined
  /** Lost because of the network or sleep, not to another tab: the server may still count it as this tab's. */
  #isResumable = false
  #isHandingOver = false
  /** The last request of another tab of this session. */
  #ownGrant: { readonly id: string; readonly done: Promise<void> } | undefined
  #cancelSilence = () => {}
  /** The latest call of `acquire`. */
  #latest: { readonly until: number; readonly outcome: Promise<boolean> } | undefined
  /** Counts as input of the user. */
  readonly touch: () => void

  constructor(options: HoldingOptions) {
    const { room, updates } = options
    const { clock, view } = room
    const requests = new HoldRequests(options, options.requests)
    this.#options = options
    this.#room = room
    this.#requests = requests
    this.#handoffRequests = new HandoffRequests({
      clock,
      view,
      refresh: () => updates.refresh(),
      onPostponed: (answerWithinMs) => requests.extendDemand(answerWithinMs),
    })
    this.#onPeopleEvent = followPeople(view)
    this.#pending = trackRequests(requests, () => this.isHeld() || options.isFollowed())
    this.touch = watchIdleHolder({
      clock,
      view,
      idleAfterMs: () => room.idleAfterMs,
      handOver: () => this.#handOverIdle(),
    })
  }

  isHeld(): boolean {
    return this.#kept?.isHeld() === true
  }

  async acquire(waitMs: number): Promise<boolean> {
    const { clock, view, isClosed } = this.#room
    if (this.isHeld()) return true
    if (isClosed) return false
    const until = clock.monotonic() + waitMs
    const isWaiting = view.state.phase === 'waiting'
    if (isWaiting && waitMs === 0) return false
    // One call waits for all. A shorter call joins it, a longer one replaces it.
    const isJoining = isWaiting && this.#latest && this.#latest.until >= until
    if (!isJoining) this.#latest = { until, outcome: this.#request(waitMs) }
    return this.#latest?.outcome ?? false
  }

  async release(): Promise<void> {
    const ending = this.#kept
    const isPending = this.#pending.any()
    this.#latest = undefined
    this.#pending.stop('acquire')
    this.#pending.stop('demand')
    this.#kept = undefined
    this.#isResumable = false
    this.#room.view.dispatch({ type: 'released' })
    if (isPending) await this.#requests.withdraw().catch(() => {})
    await ending?.release().catch(() => {})
  }

  async save(content: unknown, token: number): Promise<void> {
    try {
      await this.#requests.save(content, token)
    } catch (cause) {
      const error = asLeaseError(cause)
      // Before the next heartbeat finds it out: a draft would save again and again until then.
      const isOver = error.code === 'stale-token' || error.code === 'lease-lost'
      if (isOver && this.#kept?.record.token === token) this.#kept.lose('ended')
      this.#onTrouble(error)
      // Shows whether the lock can still be renewed.
      if (this.#room.view.state.phase !== 'held') void this.resume()
      throw error
    }
  }

  takeover(): Promise<boolean> {
    return this.#demand('takeover', 'taking-over')
  }

  requestHandoff(): Promise<boolean> {
    return this.#demand('request', 'asking')
  }

  takeOver(): Promise<boolean> {
    warnOnce('lock.takeOver() is called takeover() now')
    return this.takeover()
  }

  requestHandOver(): Promise<boolean> {
    warnOnce('lock.requestHandOver() is called requestHandoff() now')
    return this.requestHandoff()
  }

  /** A time is what this tab asks for. */
  async answer(answer: boolean | Duration): Promise<void> {
    const { clock, view, steps } = this.#room
    const { request } = view.state
    if (typeof answer !== 'boolean') {
      const ms = expectDuration('answer', answer, MIN_POSTPONE_MS, MAX_POSTPONE_MS)
      return request ? this.#postpone(request, ms) : undefined
    }
    if (!request) return
    if (request.id === this.#ownGrant?.id) return this.#ownGrant.done
    if (answer) await this.runSteps(steps)
    this.#isHandingOver = answer
    try {
      await this.#requests.answer(request.id, { granted: answer })
      const { heartbeat_ms = 0 } = view.terms ?? {}
      clock.setTimer(() => (this.#isHandingOver = false), heartbeat_ms + HANDOFF_MS, true)
    } catch (error) {
      this.#isHandingOver = false
      throw error
    } finally {
      // If it is still open, the next response says so.
      view.change({ request: null })
    }
  }

  /** Runs steps if the lock is held. `undefined`: there is nothing to wait for. */
  runSteps(steps: Iterable<ReleaseStep>): Promise<unknown> | undefined {
    const { clock, view } = this.#room
    return view.state.held ? runSteps(steps, clock) : undefined
  }

  /** Ends the uses of a lock that was lost, and does not resume it. */
  dropLost(): void {
    if (this.#isResumable) this.#room.users.clear()
    this.#isResumable = false
  }

  /** Renews what is held. Resumes a lock that the server still counts as this tab's. */
  async resume(): Promise<void> {
    if (this.#room.isClosed) return
    if (this.#kept?.isHeld()) await this.#kept.renew().catch(() => {})
    else if (this.#isResumable) {
      // Without a response, the next call tries again.
      const grant = await this.#requests.resume().catch(() => undefined)
      if (grant === undefined || !this.#isResumable) return
      this.#isResumable = false
      if (grant && this.#keep(grant)) return
      if (grant) this.#giveBack(grant)
      this.#room.users.clear()
    }
  }

  onResponse(response: ApiResponse): void {
    this.#handoffRequests.onResponse(response)
    this.#grantOwn()
  }

  onEvent(event: string, data: Body): void {
    this.#onPeopleEvent(event, data)
    this.#handoffRequests.onEvent(event, data)
    this.#grantOwn()
    const kept = this.#kept
    if (kept && endsLease(event, data, kept.record.token)) kept.lose('ended')
  }

  /** The page is closed, or goes into the back/forward cache. */
  onLeave(): void {
    const { view, users, steps } = this.#room
    if (this.#pending.any()) this.#requests.withdraw().catch(() => {})
    const leaving = this.#kept
    if (!leaving?.isHeld()) return
    users.clear()
    const release = () => void leaving.release().catch(() => {})
    const done = this.runSteps(steps)
    // The page may not come back, so its save comes first, although others wait for its end.
    if (done) void done.then(release)
    else release()
    view.dispatch({ type: 'lost', error: null })
  }

  /** The person goes on in another tab, which asks for the lock. There is nobody to ask. */
  #grantOwn(): void {
    const { request } = this.#room.view.state
    if (!request?.isOwn || request.id === this.#ownGrant?.id) return
    const done = this.answer(true)
    this.#ownGrant = { id: request.id, done }
    // If the answer is lost, the server grants it when the grace period is over.
    done.catch(() => {})
  }

  /** The request stays open. */
  async #postpone(request: HandoffRequest, ms: number): Promise<void> {
    const { requests } = this.#options
    const { clock, view } = this.#room
    await this.#requests.answer(request.id, { postpone_ms: ms })
    const { answer_within_ms = 0 } = requests.terms
    const postponedUntil = clock.now() + ms
    const until = postponedUntil + Number(answer_within_ms)
    if (view.state.request?.id === request.id) view.change({ request: { ...request, postponedUntil, until } })
  }

  /** Nobody is at this page. */
  async #handOverIdle(): Promise<void> {
    const { view, users, steps } = this.#room
    if (view.state.request) return this.answer(true)
    await this.runSteps(steps)
    users.clear()
    await this.release()
  }

  async #request(waitMs: number): Promise<boolean> {
    const { clock, view } = this.#room
    const { dispatch } = view
    const giveUpAt = clock.monotonic() + waitMs
    const outcome = await this.#pending.run('acquire', (stop) => {
      dispatch({ type: 'acquiring' })
      return this.#requests.acquire(waitMs, stop, {
        onWaiting: () => dispatch({ type: 'waiting' }),
        onFailure: (error) => dispatch({ type: 'retrying', error }),
      })
    })
    // It was given up, or replaced by a longer call, or by a takeover.
    if (outcome === undefined) return this.#latest?.outcome ?? this.isHeld()
    if (isGrant(outcome)) {
      if (this.#keep(outcome)) return true
      const leftMs = giveUpAt - clock.monotonic()
      // The machine slept meanwhile. The server renews what this tab has, or lets it wait again.
      if (leftMs >= 1) return this.#request(leftMs)
      this.#giveBack(outcome)
    } else if (outcome) dispatch({ type: isSignedOut(outcome) ? 'signed-out' : 'error', error: outcome })
    else dispatch({ type: 'refused' })
    return false
  }

  async #demand(how: 'takeover' | 'request', demand: Demand): Promise<boolean> {
    const { view, isClosed } = this.#room
    if (isClosed || this.#pending.has('demand')) return false
    const outcome = await this.#pending.run('demand', (stop) => {
      view.change({ demand })
      return this.#requests.demand(how, stop)
    })
    if (outcome === undefined) return false
    if (isGrant(outcome)) {
      this.#latest = undefined
      this.#pending.stop('acquire')
      if (this.#keep(outcome)) return true
      this.#giveBack(outcome)
    }
    if (outcome instanceof LeaseError) view.change({ demand: 'failed', error: outcome })
    else view.change({ demand: typeof outcome === 'string' ? outcome : 'failed' })
    return false
  }

  /** False: the response came too late, and the lock may have expired. */
  #keep({ lease, sent }: Grant): boolean {
    const { clock, view } = this.#room
    if (this.isHeld() && this.#kept?.record.token === lease.token) return true
    // Every request for the lock follows a read, which brings the terms.
    const { terms } = view
    const keeping =
      terms &&
      keepLease(this.#requests, lease, {
        ttl: terms.ttl_ms,
        heartbeat: terms.heartbeat_ms,
        clock,
        sent,
        onEvent: (event) => {
          if (this.#kept !== keeping) return
          if (event.type === 'renewed') {
            view.dispatch({ type: 'renewed' })
            this.#expectHeartbeat()
          }
          if (event.type === 'error' && event.operation === 'renew') this.#onTrouble(event.error)
          if (event.type === 'lost') this.#onLost(event.reason, event.error)
        },
      })
    this.#kept = keeping ?? undefined
    if (!keeping) return false
    view.dispatch({ type: 'granted', token: lease.token })
    this.#expectHeartbeat()
    return true
  }

  /** The server may still count it as this tab's, and nobody else could have it before it expires. */
  #giveBack({ lease }: Grant): void {
    this.#requests.release(lease).catch(() => {})
    this.#room.view.dispatch({ type: 'refused' })
  }

  /** A silent server is a problem long before the lock expires. */
  #expectHeartbeat(): void {
    const { clock, view } = this.#room
    const { heartbeat_ms, ttl_ms } = view.terms as RoomTerms
    const onSilence = () => view.dispatch({ type: 'troubled', error: null })
    this.#cancelSilence()
    this.#cancelSilence = clock.setTimer(onSilence, heartbeat_ms + ttl_ms * LATE_PART, true)
  }

  #onTrouble(error: LeaseError): void {
    const { dispatch } = this.#room.view
    if (isSignedOut(error)) dispatch({ type: 'signed-out', error })
    else if (error.retryable) dispatch({ type: 'troubled', error })
  }

  #onLost(reason: LossReason, error: LeaseError): void {
    const { view, users } = this.#room
    this.#isResumable = reason === 'deadline' || reason === 'gave-up'
    if (!this.#isResumable) users.clear()
    view.dispatch(this.#isHandingOver ? { type: 'released' } : { type: 'lost', error })
    this.#isHandingOver = false
    void this.resume()
    void this.#options.updates.refresh()
  }
}
