/** Our time as the one who writes: takes the project lock, stands in line for it, and notices its loss. */
import type { Clock } from '../core/index.ts'
import type { LockError, ProjectLockLease } from '../project/index.ts'
import type { AutoSaveOptions } from './types.ts'

export interface Tenure {
  /** The lease, asked for if it is not ours yet. Rejects when it cannot be had. */
  obtain(): Promise<ProjectLockLease>
  /** Waits silently for as long as it takes. */
  standBy(): void
  /** Whether this lease may write at this moment. */
  holds(lease: ProjectLockLease): boolean
  /** Whether this lease was neither lost nor released. */
  keeps(lease: ProjectLockLease): boolean
  release(): Promise<void>
  /** Ends every wait. */
  stopWaiting(): void
}

export interface TenureEvents {
  /** The line has come to us. */
  granted(lease: ProjectLockLease): unknown
  /** Standing in line is not possible. */
  refused(error: unknown): void
  lost(error: LockError): void
}

export function createTenure(
  { locks, wait, retry }: Pick<AutoSaveOptions<unknown>, 'locks' | 'wait' | 'retry'>,
  clock: Clock,
  on: TenureEvents,
): Tenure {
  const stop = new AbortController()
  let current: ProjectLockLease | null = null
  let asking: Promise<ProjectLockLease> | null = null
  let inLine = false

  return {
    async obtain() {
      // Also one that has yet to be confirmed, after the page was away: to ask anew is to wait for ourselves.
      if (current) return current
      asking ??= ask().finally(() => {
        asking = null
      })
      return asking
    },

    standBy() {
      if (inLine || stop.signal.aborted) return
      inLine = true
      void standInLine()
    },

    holds: (lease) => keeps(lease) && locks.holdsProjectLock(lease),
    keeps,

    async release() {
      const lease = current
      current = null
      if (lease) await locks.releaseProjectLock(lease)
    },

    stopWaiting: () => stop.abort(new DOMException('AutoSave was disposed', 'AbortError')),
  }

  function keeps(lease: ProjectLockLease): boolean {
    return current?.id === lease.id
  }

  async function standInLine(): Promise<void> {
    try {
      const lease = take(await locks.acquireProjectLock({ standby: true, signal: stop.signal }))
      inLine = false
      on.granted(lease)
    } catch (error) {
      inLine = false
      if (!stop.signal.aborted) on.refused(error)
    }
  }

  async function ask(): Promise<ProjectLockLease> {
    const patience = new AbortController()
    const giveUp = () => patience.abort(stop.signal.reason)
    stop.signal.addEventListener('abort', giveUp)
    if (stop.signal.aborted) giveUp()
    const cancel =
      wait === undefined
        ? undefined
        : clock.setTimer(
            () => patience.abort(new DOMException('another holds the lock', 'TimeoutError')),
            wait,
          )
    try {
      return take(await locks.acquireProjectLock({ signal: patience.signal, ...(retry && { retry }) }))
    } finally {
      cancel?.()
      stop.signal.removeEventListener('abort', giveUp)
    }
  }

  function take(lease: ProjectLockLease): ProjectLockLease {
    if (stop.signal.aborted) {
      // The grant has crossed our good-bye.
      locks.releaseProjectLock(lease).catch(() => {})
      throw stop.signal.reason
    }
    current = lease
    const signal = locks.projectLockSignal(lease)
    const onAbort = () => {
      if (!keeps(lease)) return
      current = null
      on.lost(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    return lease
  }
}
