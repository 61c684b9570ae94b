import { FIRST_CALL_MS } from '../base/answer-within.ts'
import type { Clock } from '../base/clock.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import type { LossReason } from '../core/index.ts'
import { type Keeper, keepLease } from '../core/keep-lease.ts'
import { type HeadersOption, isSignedOut } from './api.ts'
import type { DocumentLock } from './document-lock-types.ts'
import { endsLease, type RoomTerms } from './lock-messages.ts'
import { createLockRequests, type Grant } from './lock-requests.ts'
import type { Demand } from './lock-state.ts'
import { followLock } from './lock-updates.ts'
import { createLockView, type LockView } from './lock-view.ts'
import { isGrant, trackRequests } from './pending-requests.ts'

/** For this long after an agreed hand-over, the end of the lock is not a loss. */
const HANDING_OVER_MS = 5000
/** The answer to a heartbeat is late after this share of the TTL: 2 s of 30 s. */
const LATE_SHARE = 1 / 15
const BACKGROUND = { background: true }

export interface RoomLockOptions {
  readonly url: string
  readonly roomId: string
  readonly clientId: string
  readonly clock: Clock
  readonly name: string | undefined
  readonly headers: HeadersOption
}

/** The lock of one document for one tab, for all lock objects of the page. */
export interface RoomLock
  extends Omit<DocumentLock, 'state' | 'subscribe' | 'acquire' | 'rename' | typeof Symbol.asyncDispose> {
  readonly clock: Clock
  readonly view: LockView
  /** What requests carry: the name that others see, and the headers. */
  readonly sender: { name: string | undefined; headers: HeadersOption }
  /** The lock objects that share it. */
  readonly objects: Set<DocumentLock>
  /** Their uses of the lock: calls that wait for it, and those that were granted. Empty after a loss. */
  readonly users: Set<object>
  /** Ends the uses of a lock that was lost, and does not resume it. */
  dropLost(): void
  acquire(waitMs: number): Promise<boolean>
}

export function openRoomLock(options: RoomLockOptions): RoomLock {
  const { url, clock, name, headers } = options
  const sender = { name, headers }
  const users = new Set<object>()
  let kept: Keeper | undefined
  /** Lost because of the network or sleep, not to another tab: the server may still count it as this tab's. */
  let isResumable = false
  let isHandingOver = false
  let isClosed = false
  let cancelSilence = () => {}
  /** The latest call of `acquire`. */
  let latest: { readonly until: number; readonly outcome: Promise<boolean> } | undefined

  const view = createLockView(clock)
  const { dispatch, change } = view
  const requests = createLockRequests({
    ...options,
    name: () => sender.name || undefined,
    headers: () => (typeof sender.headers === 'function' ? sender.headers() : sender.headers),
    expectResponse() {
      const onResponse = view.expectResponse()
      return (response) => {
        onResponse(response)
        updates.onResponse()
      }
    },
  })
  const pending = trackRequests(requests, () => kept?.isHeld() === true)
  const updates = followLock({
    url,
    clock,
    view,
    requests,
    onEvent(event, data) {
      if (kept && endsLease(event, data, kept.record.token)) kept.lose('ended')
    },
    onAwake: () => void resume(),
    onOffline: onSilence,
    onLeave,
  })
  const lock: RoomLock = {
    clock,
    sender,
    users,
    objects: new Set(),
    view,

    dropLost() {
      if (isResumable) users.clear()
      isResumable = false
    },

    async acquire(waitMs) {
      if (kept?.isHeld()) return true
      if (isClosed) return false
      const until = clock.monotonic() + waitMs
      const isWaiting = view.state.phase === 'waiting'
      if (isWaiting && waitMs === 0) return false
      // One call waits for all. A shorter call joins it, a longer one replaces it.
      const isJoining = isWaiting && latest && latest.until >= until
      if (!isJoining) latest = { until, outcome: request(waitMs) }
      const outcome = latest?.outcome ?? false
      if (!waitMs || waitMs === Infinity) return outcome
      // The first request is on its way, and always has this long.
      const limitMs = isWaiting ? waitMs : Math.max(waitMs, FIRST_CALL_MS)
      return Promise.race([outcome, pause(clock, limitMs, BACKGROUND).then(() => false)])
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

    load: requests.load,

    async save(content) {
      const { token } = view.state
      if (token === null) throw new LeaseError('lease-lost', 'acquire the lock before you save')
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

    takeOver: () => demandLock('takeover', 'taking-over'),
    requestHandOver: () => demandLock('request', 'asking'),

    async answer(granted) {
      const { request } = view.state
      if (!request) return
      isHandingOver = granted
      try {
        await requests.answer(request.id, granted)
        clock.setTimer(() => (isHandingOver = false), HANDING_OVER_MS, true)
      } catch (error) {
        isHandingOver = false
        throw error
      } finally {
        // If it is still open, the next response says so.
        change({ request: null })
      }
    },

    async close() {
      isClosed = true
      view.close()
      updates.close()
      await lock.release()
    },
  }
  return lock

  async function request(waitMs: number): Promise<boolean> {
    const outcome = await pending.run('acquire', (stop) => {
      dispatch({ type: 'acquiring' })
      return requests.acquire(waitMs, stop, () => dispatch({ type: 'waiting' }))
    })
    // It was given up, or replaced by a longer call, or by a take-over.
    if (outcome === undefined) return latest?.outcome ?? kept?.isHeld() === true
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
    if (isClosed || pending.has('demand')) return false
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
    change({ demand: typeof outcome === 'string' ? outcome : 'failed' })
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
    if (!kept?.isHeld()) return
    users.clear()
    kept.release().catch(() => {})
    dispatch({ type: 'lost', error: null })
  }

  /** Renews what is held. Resumes a lock that the server still counts as this tab's. */
  async function resume(): Promise<void> {
    if (isClosed) return
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
