/** The project lock of one AutoSave: acquires it, waits in the queue for it, and notices its loss. */

import { onAbort } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import type { Pauses } from '../base/retry.ts'
import type { LockError, ProjectLockLease } from '../project/index.ts'
import { HANDOFF_MS } from './options.ts'
import type { AutoSaveLocks } from './types.ts'

export interface WriterLock {
  /** The current lease, or a new one. Rejects if it cannot be acquired. */
  acquire(): Promise<ProjectLockLease>
  /** Waits in the queue without a time limit and without events. */
  joinQueue(): void
  /** Takes the lock from the tab that holds it. */
  steal(): Promise<void>
  /** Whether there is a lease that was neither lost nor released. */
  readonly isHeld: boolean
  /** Stops writing, and keeps the lock until another tab takes it, at most for a moment. */
  handOver(): void
  /** Whether this lease may write now. */
  mayWrite(lease: ProjectLockLease): boolean
  /** Whether this lease was neither lost nor released. */
  isCurrent(lease: ProjectLockLease): boolean
  release(): Promise<void>
  /** Ends every wait. */
  stopWaiting(): void
}

export interface WriterLockListeners {
  /** The queue has reached us. */
  onGranted(lease: ProjectLockLease): unknown
  /** Waiting in the queue is not possible. */
  onRefused(error: unknown): void
  onLost(error: LockError): void
}

export interface WriterLockOptions {
  readonly locks: AutoSaveLocks
  readonly clock: Clock
  /** Milliseconds. */
  readonly wait: number
  readonly retry: Pauses | undefined
}

export function createWriterLock(
  { locks, clock, wait, retry }: WriterLockOptions,
  { onGranted, onRefused, onLost }: WriterLockListeners,
): WriterLock {
  const stop = new AbortController()
  /** Ends the wait in the queue; `null`: there is none. */
  let queueing: AbortController | null = null
  let current: ProjectLockLease | null = null
  let request: Promise<ProjectLockLease> | null = null

  return {
    async acquire() {
      // Also a lease that has to be confirmed because the page was away: a new request would wait for our own lock.
      if (current) return current
      request ??= requestLock().finally(() => {
        request = null
      })
      return request
    },

    joinQueue() {
      if (!queueing && !stop.signal.aborted) void waitInQueue()
    },

    async steal() {
      queueing?.abort()
      queueing = null
      const lease = keep(await locks.acquireProjectLock({ steal: true, signal: stop.signal }), stop.signal)
      await onGranted(lease)
    },

    get isHeld() {
      return current !== null
    },

    handOver() {
      const lease = current
      current = null
      if (lease) clock.setTimer(() => locks.releaseProjectLock(lease).catch(() => {}), HANDOFF_MS)
    },

    mayWrite: (lease) => isCurrent(lease) && locks.holdsProjectLock(lease),
    isCurrent,

    async release() {
      const lease = current
      current = null
      if (lease) await locks.releaseProjectLock(lease)
    },

    stopWaiting: () => stop.abort(new DOMException('AutoSave was closed', 'AbortError')),
  }

  function isCurrent(lease: ProjectLockLease): boolean {
    return current?.id === lease.id
  }

  async function waitInQueue(): Promise<void> {
    const waiting = new AbortController()
    queueing = waiting
    const unlisten = onAbort(stop.signal, () => waiting.abort(stop.signal.reason))
    const { signal } = waiting
    try {
      const lease = keep(await locks.acquireProjectLock({ standby: true, signal }), signal)
      queueing = null
      onGranted(lease)
    } catch (error) {
      if (queueing === waiting) queueing = null
      if (!signal.aborted) onRefused(error)
    } finally {
      unlisten()
    }
  }

  async function requestLock(): Promise<ProjectLockLease> {
    const limit = new AbortController()
    const unlisten = onAbort(stop.signal, () => limit.abort(stop.signal.reason))
    const onTimeout = () => limit.abort(new DOMException('another tab holds the lock', 'TimeoutError'))
    const started = clock.monotonic()
    let cancel: (() => void) | undefined
    // Slow storage is not another tab: only a refusal starts the limit.
    const onWaiting = () => {
      cancel ??= clock.setTimer(onTimeout, Math.max(0, wait - (clock.monotonic() - started)))
    }
    try {
      const options = { signal: limit.signal, onWaiting, ...(retry && { retry }) }
      return keep(await locks.acquireProjectLock(options), stop.signal)
    } finally {
      cancel?.()
      unlisten()
    }
  }

  function keep(lease: ProjectLockLease, wanted: AbortSignal): ProjectLockLease {
    if (wanted.aborted) {
      // The grant came after the end of the wait.
      locks.releaseProjectLock(lease).catch(() => {})
      throw wanted.reason
    }
    current = lease
    const signal = locks.projectLockSignal(lease)
    onAbort(signal, () => {
      if (!isCurrent(lease)) return
      current = null
      onLost(signal.reason)
    })
    return lease
  }
}
