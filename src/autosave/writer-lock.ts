/** The project lock of one AutoSave: acquires it, waits in the queue for it, and notices its loss. */

import { onAbort } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import type { Pauses } from '../base/retry.ts'
import type { LockError, ProjectLockLease } from '../project/index.ts'
import { HANDOFF_MS } from './options.ts'
import type { AutoSaveLocks } from './types.ts'

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

export class WriterLock {
  readonly #options: WriterLockOptions
  readonly #listeners: WriterLockListeners
  readonly #stop = new AbortController()
  /** Ends the wait in the queue; `null`: there is none. */
  #queueing: AbortController | null = null
  #current: ProjectLockLease | null = null
  #request: Promise<ProjectLockLease> | null = null

  constructor(options: WriterLockOptions, listeners: WriterLockListeners) {
    this.#options = options
    this.#listeners = listeners
  }

  /** The current lease, or a new one. Rejects if it cannot be acquired. */
  async acquire(): Promise<ProjectLockLease> {
    // Also a lease that has to be confirmed because the page was away: a new request would wait for our own lock.
    if (this.#current) return this.#current
    this.#request ??= this.#requestLock().finally(() => {
      this.#request = null
    })
    return this.#request
  }

  /** Waits in the queue without a time limit and without events. */
  joinQueue(): void {
    if (!this.#queueing && !this.#stop.signal.aborted) void this.#waitInQueue()
  }

  /** Takes the lock from the tab that holds it. */
  async steal(): Promise<void> {
    this.#queueing?.abort()
    this.#queueing = null
    const { signal } = this.#stop
    const lease = await this.#options.locks.acquireProjectLock({ steal: true, signal })
    await this.#listeners.onGranted(this.#keep(lease, signal))
  }

  /** Whether there is a lease that was neither lost nor released. */
  get isHeld(): boolean {
    return this.#current !== null
  }

  /** Stops writing, and keeps the lock until another tab takes it, at most for a moment. */
  handOver(): void {
    const { locks, clock } = this.#options
    const lease = this.#current
    this.#current = null
    if (lease) clock.setTimer(() => locks.releaseProjectLock(lease).catch(() => {}), HANDOFF_MS)
  }

  /** Whether this lease may write now. */
  mayWrite(lease: ProjectLockLease): boolean {
    return this.isCurrent(lease) && this.#options.locks.holdsProjectLock(lease)
  }

  /** Whether this lease was neither lost nor released. */
  isCurrent(lease: ProjectLockLease): boolean {
    return this.#current?.id === lease.id
  }

  async release(): Promise<void> {
    const lease = this.#current
    this.#current = null
    if (lease) await this.#options.locks.releaseProjectLock(lease)
  }

  /** Ends every wait. */
  stopWaiting(): void {
    this.#stop.abort(new DOMException('AutoSave was closed', 'AbortError'))
  }

  async #waitInQueue(): Promise<void> {
    const stopped = this.#stop.signal
    const waiting = new AbortController()
    this.#queueing = waiting
    const unlisten = onAbort(stopped, () => waiting.abort(stopped.reason))
    const { signal } = waiting
    try {
      const lease = await this.#options.locks.acquireProjectLock({ standby: true, signal })
      this.#keep(lease, signal)
      this.#queueing = null
      this.#listeners.onGranted(lease)
    } catch (error) {
      if (this.#queueing === waiting) this.#queueing = null
      if (!signal.aborted) this.#listeners.onRefused(error)
    } finally {
      unlisten()
    }
  }

  async #requestLock(): Promise<ProjectLockLease> {
    const { locks, clock, wait, retry } = this.#options
    const stopped = this.#stop.signal
    const limit = new AbortController()
    const unlisten = onAbort(stopped, () => limit.abort(stopped.reason))
    const onTimeout = () => limit.abort(new DOMException('another tab holds the lock', 'TimeoutError'))
    const started = clock.monotonic()
    let cancel: (() => void) | undefined
    // Slow storage is not another tab: only a refusal starts the limit.
    const onWaiting = () => {
      cancel ??= clock.setTimer(onTimeout, Math.max(0, wait - (clock.monotonic() - started)))
    }
    try {
      const options = { signal: limit.signal, onWaiting, ...(retry && { retry }) }
      return this.#keep(await locks.acquireProjectLock(options), stopped)
    } finally {
      cancel?.()
      unlisten()
    }
  }

  #keep(lease: ProjectLockLease, wanted: AbortSignal): ProjectLockLease {
    const { locks } = this.#options
    if (wanted.aborted) {
      // The grant came after the end of the wait.
      locks.releaseProjectLock(lease).catch(() => {})
      throw wanted.reason
    }
    this.#current = lease
    const signal = locks.projectLockSignal(lease)
    onAbort(signal, () => {
      if (!this.isCurrent(lease)) return
      this.#current = null
      this.#listeners.onLost(signal.reason)
    })
    return lease
  }
}
