import {
  checkEach,
  expectBoolean,
  expectFunction,
  expectObject,
  expectOneOf,
  expectSignal,
  expectText,
} from '../base/arguments.ts'
import { moment } from '../base/clock.ts'
import { isRetryable, LeaseError, messageOf } from '../base/errors.ts'
import { pause, pauseUntilAborted } from '../base/pause.ts'
import { privateDirectory } from '../base/private-directory-browser.ts'
import { randomId } from '../base/random-id.ts'
import { nameOf } from '../clients/browser-errors.ts'
import type { LeaseEvent } from '../core/index.ts'
import { createManager } from '../core/manager.ts'
import type { WebLocks } from '../stores/browser/platform.ts'
import { acquireClaim, type Backends } from './acquire.ts'
import { type Claim, createClaim } from './claim.ts'
import { LockError, notHeld } from './errors.ts'
import { createLockEvents } from './events.ts'
import { loadLockFileStore } from './load-lock-file-store.ts'
import type { LockFileTools } from './lock-file-store.ts'
import {
  type AcquireRequest,
  checkAcquireOptions,
  checkOptions,
  HEARTBEAT_MS,
  type ProjectLocksOptions,
  TTL_MS,
  WEB_LOCK_WAIT_MS,
} from './options.ts'
import { describe, SCOPES, UNREADABLE } from './project-lease.ts'
import type { ProjectLockLease, ProjectLocks } from './types.ts'
import { projectWebLockStore } from './web-lock-store.ts'

const FALLBACK_TOOLS: LockFileTools = {
  LeaseError,
  SCOPES,
  TTL_MS,
  UNREADABLE,
  describe,
  messageOf,
  moment,
  nameOf,
  pause,
  privateDirectory,
  randomId,
}

/**
 * Locks that decide who may write `project/`: Web Locks, or `project/.lock` if the browser has none. Throws
 * `invalid-argument`.
 *
 * @example
 * const locks = createProjectLocks({ namespace: 'storyboard' })
 * await locks.withProjectLock(async () => save(project))
 */
export function createProjectLocks(options: ProjectLocksOptions): ProjectLocks {
  const { namespace, locks: webLocks, directory, takeoverAfter, clock, page } = checkOptions(options)
  const events = createLockEvents(clock)
  const { subscribe } = events
  /** By the id of the lease, from the first attempt until the release. */
  const claims = new Map<string, Claim>()
  const onEvent = (event: LeaseEvent) => claims.get(event.owner)?.onLeaseEvent(event)

  const webStore = projectWebLockStore(
    () => webLocks as WebLocks,
    `${namespace}:project:`,
    clock,
    Number(takeoverAfter),
    claims,
  )
  let fallback: ReturnType<typeof openFallback> | undefined
  const backends: Backends = {
    clock,
    web: createManager(webStore, { clock, onEvent, heartbeat: false, wait: WEB_LOCK_WAIT_MS }, namespace),
    fallback: async () => (await useFallback()).manager,
  }
  const closing = new AbortController()
  for (const type of ['pageshow', 'resume'])
    page?.addEventListener(type, onPageReturn, { signal: closing.signal })

  const locks: ProjectLocks = {
    namespace,
    acquireProjectLock: async (acquireOptions) =>
      (await acquire(checkAcquireOptions(acquireOptions))).snapshot(),

    async renewProjectLock(lease, renewOptions = {}) {
      checkEach(renewOptions, { signal: expectSignal })
      const claim = claimOf(lease)
      if (!claim) throw notHeld()
      return claim.renewNow(renewOptions.signal)
    },

    async releaseProjectLock(lease, releaseOptions = {}) {
      checkEach(releaseOptions, { force: expectBoolean })
      const claim = claimOf(lease)
      if (!releaseOptions.force) return claim && release(claim)
      expectOneOf('lease.scope', lease.scope, SCOPES)
      await release(claim ?? createClaim(lease, events), async () =>
        (await useFallback()).store.clear(lease.scope),
      )
    },

    async withProjectLock(executor, withOptions) {
      expectFunction('executor', executor)
      return execute(executor, checkAcquireOptions(withOptions))
    },

    subscribe,
    subscribeLockEvents: subscribe,
    projectLockEvents: { subscribe },
    holdsProjectLock,
    projectLockSignal: (lease) => claimOf(lease)?.lossSignal() ?? AbortSignal.abort(notHeld()),

    async close() {
      closing.abort()
      await Promise.all([...claims.values()].map((claim) => claim.isGranted() && release(claim)))
      await Promise.all([
        backends.web.close(),
        fallback?.then(({ manager }) => manager.close()).catch(() => {}),
      ])
    },

    [Symbol.asyncDispose]: () => locks.close(),
  }
  return locks

  function useFallback(): ReturnType<typeof openFallback> {
    fallback ??= openFallback()
    // It may be loaded again.
    fallback.catch(() => (fallback = undefined))
    return fallback
  }

  async function openFallback() {
    const { lockFileStore } = await loadLockFileStore().catch((error) => {
      // Without the cause: it says nothing about what the browser supports.
      throw new LeaseError('store-unavailable', messageOf(error))
    })
    const store = lockFileStore(FALLBACK_TOOLS, directory, clock, claims)
    const options = { clock, onEvent, ttl: TTL_MS, heartbeat: HEARTBEAT_MS, wait: 0 }
    const manager = createManager(store, options, namespace)
    if (closing.signal.aborted) await manager.close()
    return { store, manager }
  }

  async function acquire(request: AcquireRequest): Promise<Claim> {
    const { scope, signal } = request
    signal.throwIfAborted()
    const id = randomId()
    const backend = webLocks ? 'web' : 'fallback'
    const requested = { id, backend, scope, acquiredAt: 0, ttlExpiresAt: Infinity } as const
    const claim = createClaim(requested, events, request)
    claims.set(id, claim)
    try {
      await acquireClaim(backends, claim, request)
      return claim
    } catch (error) {
      claims.delete(id)
      // A failed acquisition has emitted its error. A wait that was ended from outside emits only this.
      if (signal.aborted || closing.signal.aborted) claim.emit('released', {})
      throw error
    }
  }

  async function release(claim: Claim, force?: () => Promise<void>): Promise<void> {
    await claim.release(force)
    claims.delete(claim.id)
  }

  /** Acquires, executes, always releases. Runs again only if the error says `retryable: true`. */
  async function execute<T>(
    executor: (lease: ProjectLockLease) => Promise<T>,
    request: AcquireRequest,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const claim = await acquire(request)
      let delay: number | null
      try {
        const result = await executor(claim.snapshot())
        const loss = claim.loss()
        // Another tab may have written in the meantime.
        if (loss) throw loss
        return result
      } catch (cause) {
        const error = asLockError(cause)
        delay = error.retryable ? request.retry(attempt) : null
        // A final loss has already made this tab read-only.
        const wasReadOnly = claim.loss()?.retryable === false
        claim.emitError('execute', error, delay === null && !wasReadOnly && 'executor-failed')
        if (delay === null) throw cause
        claim.emitRetry(attempt, delay, 'transient-error')
      } finally {
        await release(claim)
      }
      await pauseUntilAborted(clock, delay, request.signal)
    }
  }

  function claimOf(lease: ProjectLockLease): Claim | undefined {
    expectObject('lease', lease)
    expectText('lease.id', lease.id)
    return claims.get(lease.id)
  }

  function holdsProjectLock(lease: ProjectLockLease): boolean {
    // A debugger, a long computation or the sleep of the machine stops a page without an event.
    if (webStore.wasSilent()) confirmAll()
    return !!claimOf(lease)?.isHeld()
  }

  function confirmAll(): void {
    for (const claim of claims.values()) claim.confirm()
  }

  function onPageReturn(event: Event): void {
    const isFirstShow = (event as PageTransitionEvent).persisted === false
    if (!isFirstShow) confirmAll()
  }
}

function asLockError(cause: unknown): LockError {
  if (cause instanceof LockError) return cause
  return new LockError('lock-unavailable', messageOf(cause), isRetryable(cause), cause)
}
