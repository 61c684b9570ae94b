import { useCallback, useEffect, useMemo, useReducer, useRef } from 'react'
import { expectOptions, hasMethods } from '../base/arguments.ts'
import type { LeaseError } from '../base/errors.ts'
import type {
  AcquireProjectLockOptions,
  LockScope,
  ProjectLockEvent,
  ProjectLockLease,
  ProjectLocks,
} from '../project/index.ts'
import {
  INITIAL_LOCK_STATE,
  type LockState,
  type ProjectLockStatus,
  reduceLockEvent,
  statusOf,
} from './project-lock-status.ts'
import { sharedLocks } from './shared-locks.ts'

export interface UseProjectLock extends ProjectLockStatus {
  /** Resolves with `null` if the lock cannot be acquired: `error` says why. */
  acquire(options?: Omit<AcquireProjectLockOptions, 'scope'>): Promise<ProjectLockLease | null>
  /** Ends the lease of `acquire`. The unmounting component does it too. */
  release(): Promise<void>
}

export interface UseProjectLockOptions {
  /** Default `autosave`. */
  readonly scope?: LockScope | undefined
}

/** The project by its name, in place of the result of `createProjectLocks`. */
export interface NamedProject extends UseProjectLockOptions {
  /** As for `createProjectLocks`. `useAutoSave` with the same namespace uses the same locks. */
  readonly namespace: string
}

type HookLocks = Pick<ProjectLocks, 'acquireProjectLock' | 'releaseProjectLock' | 'subscribeLockEvents'>

/**
 * The status of the project lock in this tab, whichever part of the page requests it. Throws `invalid-argument` for
 * options that it does not know.
 *
 * @example
 * const { status, acquire, release } = useProjectLock({ namespace: 'storyboard' })
 * return <button onClick={status === 'held' ? release : () => acquire()}>{status}</button>
 */
export function useProjectLock(project: NamedProject): UseProjectLock
export function useProjectLock(locks: HookLocks, options?: UseProjectLockOptions): UseProjectLock
export function useProjectLock(
  project: NamedProject | HookLocks,
  lockOptions: UseProjectLockOptions = {},
): UseProjectLock {
  const named = hasMethods(project, 'acquireProjectLock') ? undefined : (project as NamedProject)
  if (named) expectOptions(named, { namespace: 1, scope: 1 })
  expectOptions(lockOptions, { scope: 1 })
  const { scope = 'autosave' } = named ?? lockOptions
  const namespace = named?.namespace
  const given = named ? undefined : (project as HookLocks)
  const locks = useMemo(() => given ?? sharedLocks(namespace as string), [given, namespace])
  /** Identifies the lock. What an earlier render got from the hook must not act on a later lock. */
  const key = useMemo(() => ({ locks, scope }), [locks, scope])
  const [known, dispatch] = useReducer(reduce, { key, state: INITIAL_LOCK_STATE })
  const ownLease = useRef<{ readonly key: object; readonly lease: ProjectLockLease } | null>(null)
  /** Aborts when the component is unmounted, or changes to another lock. */
  const unmounting = useRef(new AbortController())

  const release = useCallback(async () => {
    const own = ownLease.current
    if (own?.key !== key) return
    ownLease.current = null
    await key.locks.releaseProjectLock(own.lease)
  }, [key])

  const acquire = useCallback<UseProjectLock['acquire']>(
    async ({ signal, ...rest } = {}) => {
      const unmounted = unmounting.current.signal
      try {
        const either = signal ? AbortSignal.any([signal, unmounted]) : unmounted
        const lease = await locks.acquireProjectLock({ ...rest, scope, signal: either })
        if (!unmounted.aborted) {
          ownLease.current = { key, lease }
          return lease
        }
        // The grant came after the component was unmounted.
        await locks.releaseProjectLock(lease)
      } catch (error) {
        // An event has reported any other error.
        if ((error as LeaseError).code === 'invalid-argument') throw error
      }
      return null
    },
    [key, locks, scope],
  )

  useEffect(() => {
    if (unmounting.current.signal.aborted) unmounting.current = new AbortController()
    const stop = locks.subscribeLockEvents((event) => {
      if (event.scope === scope) dispatch({ key, event })
    })
    return () => {
      stop()
      unmounting.current.abort()
      dispatch({ key, event: null })
      void release()
    }
  }, [key, locks, scope, release])

  return { ...statusOf(known.key === key ? known.state : INITIAL_LOCK_STATE), acquire, release }
}

interface KnownLock {
  readonly key: object
  readonly state: LockState
}

/** `event: null`: the component is unmounted, or changes to another lock. */
function reduce(
  known: KnownLock,
  { key, event }: { readonly key: object; readonly event: ProjectLockEvent | null },
): KnownLock {
  const before = known.key === key ? known.state : INITIAL_LOCK_STATE
  return { key, state: event ? reduceLockEvent(before, event) : INITIAL_LOCK_STATE }
}
