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
import { type ApiResponse, type Body, isSignedOut } from './api.ts'
import { followHandOverRequests } from './hand-over-requests.ts'
import { createHoldRequests, type Grant, type HoldRequestsOptions } from './hold-requests.ts'
import { watchIdleHolder } from './idle-holder.ts'
import { endsLease, type RoomTerms } from './lock-messages.ts'
import type { LockRequests } from './lock-requests.ts'
import type { Demand, HandoffRequest } from './lock-state.ts'
import type { LockUpdates } from './lock-updates.ts'
import type { LockView } from './lock-view.ts'
import { isGrant, trackRequests } from './pending-requests.ts'
import { followPeople } from './presence.ts'
import { type ReleaseStep, runSteps } from './release-steps.ts'

export { createSocket } from './socket.ts'

/** The longest time that the server accepts. */
const MAX_POSTPONE_MS = 600_000
/** For this long after the next heartbeat of an agreed handoff, the end of the lock is not a loss. */
const HANDOFF_MS = 5000
/** The answer to a heartbeat is late after this share of the TTL: 2 s of 30 s. */
const LATE_SHARE = 1 / 15

export interface HoldingOptions extends HoldRequestsOptions {
  readonly view: LockView
  readonly requests: LockRequests
  readonly updates: LockUpdates
  /** The uses of the lock, and the steps before it is given up: see `RoomLock`. */
  readonly users: Set<object>
  readonly steps: Set<ReleaseStep>
  readonly idleAfterMs: () => number | undefined
  readonly isClosed: () => boolean
  /** Whether a later lock has the same id. What this one gives back would then be taken from that one. */
  readonly isFollowed: () => boolean
}

export interface Holding {
  isHeld(): boolean
  acquire(waitMs: number): Promise<boolean>
  release(): Promise<void>
  save(content: unknown, token: number): Promise<void>
  takeover(): Promise<boolean>
  requestHandoff(): Promise<boolean>
  takeOver(): Promise<boolean>
  requestHandOver(): Promise<boolean>
  /** A time is what this tab asks for. */
  answer(answer: boolean | Duration): Promise<void>
  /** Counts as input of the user. */
  touch(): void
  /** Runs steps if the lock is held. `undefined`: there is nothing to wait for. */
  runSteps(steps: Iterable<ReleaseStep>): Promise<unknown> | undefined
  /** Ends the uses of a lock that was lost, and does not resume it. */
  dropLost(): void
  /** Renews what is held. Resumes a lock that the server still counts as this tab's. */
  resume(): Promise<void>
  onResponse(response: ApiResponse): void
  onEvent(event: string, data: Body): void
  /** The page is closed, or goes into the back/forward cache. */
  onLeave(): void
}

export function createHolding(options: HoldingOptions): Holding {
  const { clock, view, updates, users, steps, isClosed } = options
  const { dispatch, change } = view
  const requests = createHoldRequests(options, options.requests)
  const handOverRequests = followHandOverRequests({
    clock,
    view,
    refresh: () => updates.refresh(),
    onPostponed: requests.extendDemand,
  })
  const onPeopleEvent = followPeople(view)
  const touch = watchIdleHolder({ clock, view, idleAfterMs: options.idleAfterMs, handOver: handOverIdle })
  const pending = trackRequests(requests, () => isHeld() || options.isFollowed())
  let kept: Keeper | undefined
  /** Lost because of the network or sleep, not to another tab: the server may still count it as this tab's. */
  let isResumable = false
  let isHandingOver = false
  /** The last request of another tab of this session. */
  let ownGrant: { readonly id: string; readonly done: Promise<void> } | undefined
  let cancelSilence = () => {}
  /** The latest call of `acquire`. */
  let latest: { readonly until: number; readonly outcome: Promise<boolean> } | undefined

  const holding: Holding = {
    isHeld,
    resume,
    onLeave,
    runSteps: (chosen) => (view.state.held ? runSteps(chosen, clock) : undefined),

    dropLost() {
      if (isResumable) users.clear()
      isResumable = false
    },

    onResponse(response) {
      handOverRequests.onResponse(response)
      grantOwn()
    },

    onEvent(event, data) {
      onPeopleEvent(event, data)
      handOverRequests.onEvent(event, data)
      grantOwn()
      if (kept && endsLease(event, data, kept.record.token)) kept.lose('ended')
    },

    async acquire(waitMs) {
      if (isHeld()) return true
      if (isClosed()) return false
      const until = clock.monotonic() + waitMs
      const isWaiting = view.state.phase === 'waiting'
      if (isWaiting && waitMs === 0) return false
      // One call waits for all. A shorter call joins it, a longer one replaces it.
      const isJoining = isWaiting && latest && latest.until >= until
      if (!isJoining) latest = { until, outcome: request(waitMs) }
      return latest?.outcome ?? false
    },

    async release() {
      const ending = kept
      const isPending = pending.any()
      latest = undefined
      pending.stop('acquire')
      pending.stop('demand')
      kept = undefined
      isResumable = false
      dispatch({ type: 'released' })
      if (isPending) await requests.withdraw().catch(() => {})
      await ending?.release().catch(() => {})
    },

    async save(content, token) {
      try {
        await requests.save(content, token)
      } catch (cause) {
        const error = asLeaseError(cause)
        if (error.code === 'stale-token' && kept?.record.token === token) kept.lose('ended')
        onTrouble(error)
        // Shows whether the lock can still be renewed.
        if (view.state.phase !== 'held') void resume()
        throw error
      }
    },

    takeover: () => demandLock('takeover', 'taking-over'),
    requestHandoff: () => demandLock('request', 'asking'),
    takeOver() {
      warnOnce('lock.takeOver() is called takeover() now')
      return holding.takeover()
    },
    requestHandOver() {
      warnOnce('lock.requestHandOver() is called requestHandoff() now')
      return holding.requestHandoff()
    },

    touch,

    async answer(granted) {
      const { request } = view.state
      if (typeof granted !== 'boolean') {
        const ms = expectDuration('answer', granted, 1000, MAX_POSTPONE_MS)
        return request ? postpone(request, ms) : undefined
      }
      if (!request) return
      if (request.id === ownGrant?.id) return ownGrant.done
      if (granted) await holding.runSteps(steps)
      isHandingOver = granted
      try {
        await requests.answer(request.id, { granted })
        const { heartbeat_ms = 0 } = view.terms ?? {}
        clock.setTimer(() => (isHandingOver = false), heartbeat_ms + HANDOFF_MS, true)
      } catch (error) {
        isHandingOver = false
        throw error
      } finally {
        // If it is still open, the next response says so.
        change({ request: null })
      }
    },
  }
  return holding

  function isHeld(): boolean {
    return kept?.isHeld() === true
  }

  /** The person goes on in another tab, which asks for the lock. There is nobody to ask. */
  function grantOwn(): void {
    const { request } = view.state
    if (!request?.isOwn || request.id === ownGrant?.id) return
    const done = holding.answer(true)
    ownGrant = { id: request.id, done }
    // If the answer is lost, the server grants it when the grace period is over.
    done.catch(() => {})
  }

  /** The request stays open. */
  async function postpone(request: HandoffRequest, ms: number): Promise<void> {
    await requests.answer(request.id, { postpone_ms: ms })
    const { answer_within_ms = 0 } = options.requests.terms
    const postponedUntil = clock.now() + ms
    const until = postponedUntil + Number(answer_within_ms)
    if (view.state.request?.id === request.id) change({ request: { ...request, postponedUntil, until } })
  }

  /** Nobody is at this page. */
  async function handOverIdle(): Promise<void> {
    if (view.state.request) return holding.answer(true)
    await holding.runSteps(steps)
    users.clear()
    await holding.release()
  }

  async function request(waitMs: number): Promise<boolean> {
    const outcome = await pending.run('acquire', (stop) => {
      dispatch({ type: 'acquiring' })
      const onFailure = (error: LeaseError) => dispatch({ type: 'retrying', error })
      return requests.acquire(waitMs, stop, () => dispatch({ type: 'waiting' }), onFailure)
    })
    // It was given up, or replaced by a longer call, or by a takeover.
    if (outcome === undefined) return latest?.outcome ?? isHeld()
    if (isGrant(outcome)) return keep(outcome)
    if (outcome) dispatch({ type: isSignedOut(outcome) ? 'signed-out' : 'error', error: outcome })
    else dispatch({ type: 'refused' })
    return false
  }

  /** False: the response took so long that the lock may have expired. */
  function keep({ lease, sent }: Grant): boolean {
    if (kept?.isHeld() && kept.record.token === lease.token) return true
    // Every request for the lock follows a read, which brings the terms.
    const { terms } = view
    const keeping =
      terms &&
      keepLease(requests, lease, {
        ttl: terms.ttl_ms,
        heartbeat: terms.heartbeat_ms,
        clock,
        sent,
        onEvent(event) {
          if (kept !== keeping) return
          if (event.type === 'renewed') {
            dispatch({ type: 'renewed' })
            expectHeartbeat()
          }
          if (event.type === 'error' && event.operation === 'renew') onTrouble(event.error)
          if (event.type === 'lost') onLost(event.reason, event.error)
        },
      })
    kept = keeping ?? undefined
    dispatch(keeping ? { type: 'granted', token: lease.token } : { type: 'refused' })
    if (keeping) expectHeartbeat()
    return keeping !== null
  }

  /** A silent server is a problem long before the lock expires. */
  function expectHeartbeat(): void {
    cancelSilence()
    const { heartbeat_ms, ttl_ms } = view.terms as RoomTerms
    cancelSilence = clock.setTimer(onSilence, heartbeat_ms + ttl_ms * LATE_SHARE, true)
  }

  function onSilence(): void {
    dispatch({ type: 'troubled', error: null })
  }

  function onTrouble(error: LeaseError): void {
    if (isSignedOut(error)) dispatch({ type: 'signed-out', error })
    else if (error.retryable) dispatch({ type: 'troubled', error })
  }

  async function demandLock(how: 'takeover' | 'request', demand: Demand): Promise<boolean> {
    if (isClosed() || pending.has('demand')) return false
    const outcome = await pending.run('demand', (stop) => {
      change({ demand })
      return requests.demand(how, stop)
    })
    if (outcome === undefined) return false
    if (isGrant(outcome)) {
      latest = undefined
      pending.stop('acquire')
      if (keep(outcome)) return true
    }
    if (outcome instanceof LeaseError) change({ demand: 'failed', error: outcome })
    else change({ demand: typeof outcome === 'string' ? outcome : 'failed' })
    return false
  }

  function onLost(reason: LossReason, error: LeaseError): void {
    isResumable = reason === 'deadline' || reason === 'gave-up'
    if (!isResumable) users.clear()
    dispatch(isHandingOver ? { type: 'released' } : { type: 'lost', error })
    isHandingOver = false
    void resume()
    void updates.refresh()
  }

  function onLeave(): void {
    if (pending.any()) requests.withdraw().catch(() => {})
    const leaving = kept
    if (!leaving?.isHeld()) return
    users.clear()
    const release = () => void leaving.release().catch(() => {})
    const done = holding.runSteps(steps)
    // A page that is gone does not come back here: its save counts more than that others need not wait for the end.
    if (done) void done.then(release)
    else release()
    dispatch({ type: 'lost', error: null })
  }

  async function resume(): Promise<void> {
    if (isClosed()) return
    if (kept?.isHeld()) await kept.renew().catch(() => {})
    else if (isResumable) {
      // Without a response, the next call tries again.
      const grant = await requests.resume().catch(() => undefined)
      if (grant === undefined || !isResumable) return
      isResumable = false
      if (grant) keep(grant)
      else users.clear()
    }
  }
}
