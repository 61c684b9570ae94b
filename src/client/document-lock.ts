import { orAborted } from '../base/abort.ts'
import { expectBoolean, expectOptions, expectText, refuse } from '../base/arguments.ts'
import { expectDuration } from '../base/duration.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import type { LossReason } from '../core/index.ts'
import { type KeptLease, keepLease } from '../core/keep-lease.ts'
import { workerClock } from '../worker-clock/index.ts'
import { areHeaders, baseUrl } from './api.ts'
import type { DocumentLock, DocumentLockOptions } from './document-lock-types.ts'
import { endsLease } from './lock-messages.ts'
import { createLockRequests, type Grant } from './lock-requests.ts'
import type { Demand } from './lock-state.ts'
import { followLock } from './lock-updates.ts'
import { createLockView } from './lock-view.ts'

/** For this long after an agreed hand-over, the end of the lock is not a loss. */
const HANDING_OVER_MS = 5000

/**
 * The lock of one document for one tab: acquire, edit, save. Everybody else sees who is editing.
 *
 * @example
 * const lock = createDocumentLock({ roomId: 'minutes-42', name: 'Mika' })
 * lock.subscribe(() => render(lock.state))
 * if (await lock.acquire({ wait: '30s' })) await lock.save(text)
 */
export function createDocumentLock(options: DocumentLockOptions): DocumentLock {
  expectOptions(options, { url: 1, roomId: 1, name: 1, headers: 1, clock: 1 })
  const { roomId, headers = {}, clock = workerClock() } = options
  let { name } = options
  expectText('roomId', roomId)
  checkName(name)
  if (!areHeaders(headers)) refuse('headers', 'HTTP headers', headers)
  const url = baseUrl(options.url ?? globalThis.location?.origin)

  let kept: KeptLease | undefined
  /** Requests for the lock that are under way: at most one of `acquire`, and one of the two others. */
  const pending = new Map<'acquire' | 'demand', AbortController>()
  /** Lost because of the network or sleep, not to another tab: the server may still count it as this tab's. */
  let isResumable = false
  let isHandingOver = false
  let isClosed = false

  const view = createLockView(clock)
  const { dispatch, expectResponse } = view
  const requests = createLockRequests({
    url,
    headers,
    roomId,
    clock,
    name: () => name || undefined,
    expectResponse,
  })
  const updates = followLock({
    url,
    clock,
    view,
    requests,
    onEvent(event, data) {
      if (kept && endsLease(event, data, kept.lease.token)) kept.end()
    },
    onAwake: () => void resume(),
    onLeave,
  })
  const lock: DocumentLock = {
    get state() {
      return view.state
    },

    subscribe: view.subscribe,

    rename(newName) {
      checkName(newName)
      name = newName
    },

    async acquire(acquireOptions = {}) {
      expectOptions(acquireOptions, { wait: 1 })
      const { wait = 0 } = acquireOptions
      const waitMs = wait === Infinity ? wait : expectDuration('wait', wait, 0)
      if (kept?.lease.held) return true
      if (isClosed) return false
      const { holder } = view.state
      isResumable = false
      const outcome = await run('acquire', (stop) => {
        dispatch({ type: waitMs > 0 && holder && !holder.isMe ? 'waiting' : 'acquiring' })
        return requests.acquire(waitMs, stop)
      })
      if (isGrant(outcome)) return keep(outcome)
      if (outcome === null) dispatch({ type: 'refused' })
      else if (outcome) dispatch({ type: 'error', error: outcome })
      return false
    },

    async release() {
      const ending = kept
      const isPending = pending.size > 0
      stop('acquire')
      stop('demand')
      kept = undefined
      isResumable = false
      dispatch({ type: 'released' })
      if (isPending) await requests.withdraw().catch(() => {})
      await ending?.lease[Symbol.asyncDispose]()
    },

    load: requests.load,

    async save(content) {
      const { token } = view.state
      if (token === null) throw new LeaseError('lease-lost', 'acquire the lock before you save')
      try {
        await requests.save(content, token)
      } catch (error) {
        if ((error as LeaseError).code === 'stale-token' && kept?.lease.token === token) kept.end()
        throw error
      }
    },

    takeOver: () => demandLock('takeover', 'taking-over'),
    requestHandOver: () => demandLock('request', 'asking'),

    async answer(granted) {
      expectBoolean('granted', granted)
      const { request } = view.state
      if (!request) return
      isHandingOver = granted
      try {
        await requests.answer(request.id, granted)
      } catch (error) {
        isHandingOver = false
        throw error
      }
      dispatch({ type: 'changed', change: { request: null } })
      clock.setTimer(() => (isHandingOver = false), HANDING_OVER_MS, true)
    },

    async close() {
      isClosed = true
      view.close()
      updates.close()
      await lock.release()
    },

    [Symbol.asyncDispose]: () => lock.close(),
  }
  return lock

  /** False: the response took so long that the lock may have expired. */
  function keep({ lease, sent }: Grant): boolean {
    if (kept?.lease.held && kept.lease.token === lease.token) return true
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
          if (event.type === 'lost' && kept === keeping) onLost(event.reason, event.error)
        },
      })
    kept = keeping ?? undefined
    dispatch(keeping ? { type: 'granted', token: lease.token } : { type: 'refused' })
    return keeping !== null
  }

  /**
   * The outcome of a request, its error, or `undefined` if the request was stopped. A request that was stopped is not
   * cut off, because the server may have granted it by then. Such a grant is given back, unless another call has it.
   */
  async function run<T>(
    slot: 'acquire' | 'demand',
    request: (signal: AbortSignal) => Promise<T | Grant>,
  ): Promise<T | Grant | LeaseError | undefined> {
    stop(slot)
    const own = new AbortController()
    const { signal } = own
    pending.set(slot, own)
    const response = request(signal)
    const outcome = await orAborted(response, signal).catch(asLeaseError)
    if (signal.aborted) {
      const giveBack = (late: T | Grant) => {
        if (isGrant(late) && !isWanted()) requests.release(late.lease).catch(() => {})
      }
      response.then(giveBack, () => {})
      return undefined
    }
    pending.delete(slot)
    // The server may have granted a request whose response was lost.
    const isUnclear = outcome instanceof LeaseError && outcome.retryable
    if (isUnclear && !isWanted()) requests.withdraw().catch(() => {})
    return outcome
  }

  function stop(slot: 'acquire' | 'demand'): void {
    pending.get(slot)?.abort()
    pending.delete(slot)
  }

  /** Whether this tab has the lock, or a call that may get it. */
  function isWanted(): boolean {
    return pending.size > 0 || kept?.lease.held === true
  }

  async function demandLock(how: 'takeover' | 'request', demand: Demand): Promise<boolean> {
    if (isClosed || pending.has('demand')) return false
    const outcome = await run('demand', (stop) => {
      dispatch({ type: 'changed', change: { demand } })
      return requests.demand(how, stop)
    })
    if (outcome === undefined) return false
    if (isGrant(outcome)) {
      stop('acquire')
      if (keep(outcome)) return true
    }
    dispatch({ type: 'changed', change: { demand: typeof outcome === 'string' ? outcome : 'failed' } })
    return false
  }

  function onLost(reason: LossReason, error: LeaseError): void {
    isResumable = reason === 'deadline' || reason === 'gave-up'
    dispatch(isHandingOver ? { type: 'released' } : { type: 'lost', error })
    isHandingOver = false
    void resume()
    void updates.refresh()
  }

  function onLeave(): void {
    if (pending.size > 0) requests.withdraw().catch(() => {})
    if (!kept?.lease.held) return
    kept.lease.release().catch(() => {})
    dispatch({ type: 'lost', error: null })
  }

  /** Renews what is held. Resumes a lock that the server still counts as this tab's. */
  async function resume(): Promise<void> {
    if (isClosed) return
    if (kept?.lease.held) await kept.lease.renew().catch(() => {})
    else if (isResumable) {
      // Without a response, the next call tries again.
      const grant = await requests.resume().catch(() => undefined)
      if (grant === undefined || !isResumable) return
      isResumable = false
      if (grant) keep(grant)
    }
  }
}

/** An empty name counts as none. */
function checkName(name: unknown): void {
  if (name) expectText('name', name)
}

function isGrant(outcome: unknown): outcome is Grant {
  return 'lease' in Object(outcome)
}
