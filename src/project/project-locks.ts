import { type Clock, createLeases, type LeaseEvent } from '../core/index.ts'
import {
  type DirectorySource,
  openDirectory,
  type WebDirectory,
  type WebLocks,
} from '../stores/browser/index.ts'
import { workerClock } from '../worker-clock/index.ts'
import { acquireClaim, type Backends } from './acquiring.ts'
import { createChannel } from './channel.ts'
import { type Claim, createClaim, HEARTBEAT_MS } from './claim.ts'
import { notHeld } from './errors.ts'
import { executeWithLock } from './executing.ts'
import { TTL_MS } from './lock-file.ts'
import { lockFileStore } from './lock-file-store.ts'
import { expectObject, makeWish, refuse, type Wish } from './options.ts'
import type { ProjectLockLease, ProjectLocks } from './types.ts'
import { projectWebLockStore } from './web-lock-store.ts'

/** The time of one attempt. */
const WEB_LOCK_WAIT_MS = 10_000

export interface ProjectLocksOptions {
  /** Begins the names of the Web Locks: `${namespace}:project:${scope}`. Default `imgponic`. */
  readonly namespace?: string
  /** `null`: none, so that the fallback is used. Default: `navigator.locks`. */
  readonly locks?: WebLocks | null
  /** Has `project/` in it, or will have. Default: the origin's private directory (OPFS). */
  readonly directory?: DirectorySource
  /** Default: `workerClock()`, whose beats come on time in hidden pages too. */
  readonly clock?: Clock
  /** Tells when the page comes back (`pageshow`, `resume`). Default: the window. */
  readonly page?: Pick<EventTarget, 'addEventListener'>
}

/**
 * Locks for who may write `project/`: on Web Locks, or by `project/.lock` where the browser has none.
 *
 * @example
 * const locks = createProjectLocks({ namespace: 'storyboard' })
 * await locks.withProjectLock(async () => save(project))
 */
export function createProjectLocks(options: ProjectLocksOptions = {}): ProjectLocks {
  expectObject('options', options)
  const {
    namespace = 'imgponic',
    locks: webLocks = globalThis.navigator?.locks,
    clock = workerClock(),
    page = globalThis.window,
  } = options
  if (typeof namespace !== 'string' || !/^[^-]/.test(namespace))
    refuse('namespace', 'a name that does not begin with -', namespace)
  const channel = createChannel(clock)
  /** By the id of the lease, from the first attempt until it was released. */
  const claims = new Map<string, Claim>()
  const onEvent = (event: LeaseEvent) => claims.get(event.owner)?.hear(event)

  const webStore = projectWebLockStore(() => webLocks as WebLocks, `${namespace}:project:`, clock)
  const fileStore = lockFileStore(
    () => openProject(options.directory),
    clock,
    (id) => claims.get(id)?.beat(),
  )
  const backends: Backends = {
    clock,
    web: createLeases(webStore, { clock, onEvent, heartbeat: false, wait: WEB_LOCK_WAIT_MS }),
    fallback: createLeases(fileStore, { clock, onEvent, ttl: TTL_MS, heartbeat: HEARTBEAT_MS, wait: 0 }),
  }
  const closing = new AbortController()
  for (const type of ['pageshow', 'resume']) page?.addEventListener(type, onReturn, closing)

  const locks: ProjectLocks = {
    acquireProjectLock: async (acquireOptions) => (await acquire(makeWish(acquireOptions))).snapshot(),

    async renewProjectLock(lease, renewOptions) {
      const { signal } = makeWish(renewOptions)
      const claim = claimOf(lease)
      if (!claim || claim.released) throw notHeld()
      return claim.renewNow(signal)
    },

    async releaseProjectLock(lease, releaseOptions = {}) {
      expectObject('options', releaseOptions)
      const { force = false } = releaseOptions
      const claim = claimOf(lease) ?? (force && createClaim(lease, channel, clock, false))
      if (claim) await release(claim, force ? () => fileStore.clear(lease.scope) : undefined)
    },

    async withProjectLock(executor, withOptions) {
      if (typeof executor !== 'function') refuse('executor', 'a function', executor)
      const wish = makeWish(withOptions)
      return executeWithLock(() => acquire(wish), release, executor, wish, clock)
    },

    subscribeLockEvents: channel.subscribe,
    projectLockEvents: { subscribe: channel.subscribe },
    holdsProjectLock: (lease) => !!claimOf(lease)?.isHeld(),
    projectLockSignal: (lease) => claimOf(lease)?.signal() ?? AbortSignal.abort(notHeld()),

    async close() {
      closing.abort()
      await Promise.all([...claims.values()].map((claim) => claim.lease && release(claim)))
      await Promise.all([backends.web.close(), backends.fallback.close()])
    },
  }
  return locks

  async function acquire(wish: Wish): Promise<Claim> {
    const { scope, signal, standby } = wish
    signal.throwIfAborted()
    const id = crypto.randomUUID()
    const backend = webLocks ? 'web' : 'fallback'
    const asked = { id, backend, scope, acquiredAt: 0, ttlExpiresAt: Infinity } as const
    const claim = createClaim(asked, channel, clock, standby)
    claims.set(id, claim)
    try {
      await acquireClaim(backends, claim, wish)
      return claim
    } catch (error) {
      claims.delete(id)
      // A failure was told; that a wait was ended is told here.
      if (signal.aborted || closing.signal.aborted) claim.emit('released', {})
      throw error
    }
  }

  function claimOf(lease: ProjectLockLease): Claim | undefined {
    expectObject('lease', lease)
    return claims.get(lease.id)
  }

  async function release(claim: Claim, force?: () => Promise<void>): Promise<void> {
    await claim.release(force)
    claims.delete(claim.id)
  }

  function onReturn(event: Event): void {
    const isFirstShow = (event as PageTransitionEvent).persisted === false
    if (!isFirstShow) for (const claim of claims.values()) claim.check()
  }
}

async function openProject(
  root: DirectorySource = () => navigator.storage.getDirectory(),
): Promise<WebDirectory> {
  return (await openDirectory(root)).getDirectoryHandle('project', { create: true })
}
