/**
 * One project lease from the first attempt to its end. The core carries it: attempts, heartbeat, deadline and loss
 * are those of its manager. A claim turns what the core tells into the events of the project lock.
 *
 *     asking ──▶ held ──▶ releasing ──▶ gone
 *                  └──▶ lost ──▶ gone
 */
import type { Lease, LeaseError, LeaseEvent, LossReason } from '../core/index.ts'
import type { EventBody, EventChannel } from './channel.ts'
import { LockError } from './errors.ts'
import { UNREADABLE } from './lock-file.ts'
import { delayAfter } from './retry-policy.ts'
import type { LockBackend, LockScope, ProjectLockLease } from './types.ts'

export const HEARTBEAT_MS = 10_000
const MAX_REMOVALS = 3
/** How often a tab that stands by looks at a `.lock`, which cannot call it. */
const STANDBY_POLL_MS = 2000

export class Claim {
  readonly id = crypto.randomUUID()
  readonly scope: LockScope
  readonly #channel: EventChannel
  readonly #standsBy: boolean
  backend: LockBackend = 'web'
  /** The core's lease, once it was granted. */
  lease: Lease | undefined
  #released: Promise<void> | undefined
  #snapshot: ProjectLockLease | undefined
  #replacedUnreadable = false
  #lastFailure: LeaseError | undefined
  /** Renewals that failed in a row. */
  #failures = 0
  /** How often the `.lock` could not be removed. */
  #removals = 0
  #loss: LockError | undefined
  readonly #ended = new AbortController()
  /** Those who wait for the next renewal, or for the loss. */
  #waiters: { resolve(lease: ProjectLockLease): void; reject(error: LockError): void }[] = []
  /** A page that was away looks whether it still has its lock. */
  #isChecking = false

  constructor(scope: LockScope, channel: EventChannel, standsBy: boolean) {
    this.scope = scope
    this.#channel = channel
    this.#standsBy = standsBy
  }

  get isHeld(): boolean {
    return this.lease?.held === true && !this.#isChecking
  }

  /** Aborts with the loss. */
  get signal(): AbortSignal {
    return this.#ended.signal
  }

  get isReleased(): boolean {
    return this.#released !== undefined
  }

  get snapshot(): ProjectLockLease {
    const { id, backend, scope, lease } = this
    const acquiredAt = lease?.acquiredAt ?? 0
    const ttlExpiresAt = lease?.expiresAt ?? Infinity
    if (this.#snapshot?.ttlExpiresAt !== ttlExpiresAt)
      this.#snapshot = Object.freeze({ id, backend, scope, acquiredAt, ttlExpiresAt })
    return this.#snapshot as ProjectLockLease
  }

  emit(body: EventBody): void {
    this.#channel.emit({ leaseId: this.id, backend: this.backend, scope: this.scope }, body)
  }

  fail(operation: 'acquire' | 'renew' | 'release' | 'execute', error: LockError): void {
    this.emit({ type: 'lock:error', operation, error, retryable: error.retryable })
  }

  tellRetry(attempt: number, delayMs: number, reason: 'contended' | 'unavailable' | 'transient-error'): void {
    this.emit({ type: 'lock:retry', attempt, delayMs, reason })
    this.emit({ type: 'lock:waiting', retry: attempt, delayMs })
  }

  /** `slowMs`: how long it took, if that was too long for a file; else 0. */
  granted(lease: Lease, attempt: number, slowMs: number): ProjectLockLease {
    this.lease = lease
    const { snapshot } = this
    if (this.backend === 'fallback') this.emit({ type: 'lock:fallback-engaged', lease: snapshot })
    if (this.#replacedUnreadable) this.#warn('fallback-corrupt', 'project/.lock could not be read')
    if (slowMs && this.backend === 'fallback')
      this.#warn('fallback-delayed', `project/.lock took ${Math.round(slowMs)} ms`)
    this.emit({ type: 'lock:acquired', attempt, lease: snapshot })
    this.#tellNextBeat()
    return snapshot
  }

  /** The core's `retry`: after failed renewals, and after a `.lock` that could not be removed. */
  readonly pauseAfter = (failures: number): number | null => {
    if (this.#standsBy && !this.lease) return STANDBY_POLL_MS
    if (this.#released) return failures < MAX_REMOVALS ? delayAfter(failures) : null
    if (!this.lease || this.#isDenied) return null
    this.#failures = failures
    const delay = delayAfter(failures)
    if (delay !== null) this.tellRetry(failures, delay, 'transient-error')
    return delay
  }

  hear(event: LeaseEvent): void {
    if (event.type === 'expired') this.#replacedUnreadable = event.lease.owner === UNREADABLE
    else if (event.type === 'renewed') this.#onRenewed()
    else if (event.type === 'warning')
      this.#warn('heartbeat-delayed', `${Math.round(event.left)} ms are left`)
    else if (event.type === 'lost') this.#onLost(event.reason)
    else if (event.type === 'error') this.#onFailed(event.operation, event.error)
  }

  /** A beat goes out. */
  beat(): void {
    this.emit({ type: 'lock:attempt', operation: 'renew', strategy: this.backend, retry: this.#failures })
  }

  /** Renews now; resolves with the renewal that succeeds, be it a later one, and rejects with the loss. */
  renewNow(signal?: AbortSignal): Promise<ProjectLockLease> {
    const { lease } = this
    return new Promise((resolve, reject) => {
      if (this.#loss || !lease) return reject(this.#loss)
      this.#waiters.push({ resolve, reject })
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      // The failure of one beat is told by events, and the core tries again; the loss rejects all who wait.
      lease.renew().catch(() => {})
    })
  }

  /** Resolves whether or not the `.lock` could be removed; calling it twice is calling it once. */
  release(): Promise<void> {
    this.#released ??= Promise.resolve().then(async () => {
      this.emit({ type: 'lock:release-requested', lease: this.snapshot })
      const isRemoved = await this.lease?.release().then(
        () => true,
        () => false,
      )
      // Each failure was told; the work goes on, and what is left ends with its TTL.
      if (isRemoved) this.emit({ type: 'lock:released' })
    })
    return this.#released
  }

  /** After the page was away: nothing may be written until the lease was confirmed. */
  async check(): Promise<void> {
    if (!this.isHeld) return
    this.#isChecking = true
    await this.renewNow().catch(() => {})
    this.#isChecking = false
  }

  get #isDenied(): boolean {
    return this.#lastFailure?.code === 'store-failed'
  }

  #warn(warning: 'heartbeat-delayed' | 'fallback-delayed' | 'fallback-corrupt', detail: string): void {
    this.emit({ type: 'lock:warning', warning, detail, lease: this.snapshot })
  }

  #tellNextBeat(): void {
    if (this.backend === 'fallback')
      this.emit({ type: 'lock:renew-scheduled', lease: this.snapshot, nextHeartbeatInMs: HEARTBEAT_MS })
  }

  #onFailed(operation: string, error: LeaseError): void {
    this.#lastFailure = error
    if (operation !== 'release' || !this.#released) return
    const isLast = ++this.#removals === MAX_REMOVALS
    for (const body of removalFailed(error, isLast)) this.emit(body)
  }

  #onRenewed(): void {
    const { snapshot } = this
    this.#failures = 0
    this.#lastFailure = undefined
    if (this.backend === 'fallback')
      this.emit({ type: 'lock:renewed', ttlExpiresAt: snapshot.ttlExpiresAt, lease: snapshot })
    this.#tellNextBeat()
    for (const { resolve } of this.#waiters.splice(0)) resolve(snapshot)
  }

  #onLost(reason: LossReason): void {
    const isFinal = reason === 'deadline' || this.#isDenied
    this.#loss = new LockError('lock-renewal-failed', `the project lock was lost (${reason})`, {
      retryable: !isFinal,
      cause: this.#lastFailure,
    })
    this.#ended.abort(this.#loss)
    this.fail('renew', this.#loss)
    if (isFinal) this.enterReadonly(reason === 'deadline' ? 'lease-expired' : 'renewal-denied', this.#loss)
    for (const { reject } of this.#waiters.splice(0)) reject(this.#loss)
  }

  enterReadonly(
    reason: 'acquire-failed' | 'lease-expired' | 'renewal-denied' | 'executor-failed',
    lastError: LockError,
  ): void {
    this.emit({ type: 'lock:readonly-entered', reason, lastError })
  }
}

/** The lease is over all the same. */
export function removalFailed(cause: unknown, isLast: boolean): EventBody[] {
  const message = `project/.lock could not be removed: ${cause}`
  const error = new LockError('lock-release-failed', message, { retryable: true, cause })
  const warning: EventBody = { type: 'lock:cleanup-warning', message }
  return isLast ? [{ type: 'lock:error', operation: 'release', error, retryable: true }, warning] : [warning]
}
