/**
 * The status of a sync, and the work that `close` waits for.
 *
 *     loading ─▶ ready ─▶ closed
 *        └─────────┴────▶ invalidated
 */
import { asLeaseError, LeaseError } from '../base/errors.ts'
import type { SyncStatus } from './changes.ts'
import type { Warn } from './warnings.ts'

export interface LifecycleOptions {
  readonly warn: Warn
  /** Reads all stored data. */
  readonly load: () => Promise<void>
  /** Carries out what is scheduled. */
  readonly finish: () => Promise<unknown>
  /** Ends all subscriptions. */
  readonly unsubscribe: () => void
  /** Ends everything else. */
  readonly stop: () => void
  readonly onStatus: (status: SyncStatus) => void
}

export type Lifecycle = ReturnType<typeof createLifecycle>

export function createLifecycle(options: LifecycleOptions) {
  let status: SyncStatus = 'loading'
  let closed: Promise<void> | undefined
  let bootstrapping: Promise<void> | undefined
  const unfinished = new Set<Promise<unknown>>()
  return {
    status: () => status,
    isReady: () => status === 'ready',
    close: () => (closed ??= close()),
    bootstrap,
    tracked,
    failed,
    invalidated,
  }

  function bootstrap(): Promise<void> {
    bootstrapping ??= options.load().then(
      () => {
        if (status === 'loading') setStatus('ready')
      },
      (error) => {
        bootstrapping = undefined
        throw failed(error)
      },
    )
    return bootstrapping
  }

  /** `close` waits for the work. `earlier`: what `close` would wait for now. */
  async function tracked<T>(work: (earlier: readonly Promise<unknown>[]) => Promise<T>): Promise<T> {
    if (closed || status === 'invalidated')
      throw new LeaseError('closed', `this sync is ${closed ? 'closed' : status}`)
    const done = work([...unfinished])
    unfinished.add(done)
    try {
      return await done
    } catch (error) {
      throw failed(error)
    } finally {
      unfinished.delete(done)
    }
  }

  async function close(): Promise<void> {
    await Promise.allSettled(unfinished)
    if (status === 'invalidated') return
    await options.finish()
    stop('closed')
  }

  /** The error, as a `LeaseError`. If the storage is gone, everything stops. */
  function failed(error: unknown): LeaseError {
    const failure = asLeaseError(error)
    if (failure.code === 'closed') invalidated(failure)
    return failure
  }

  /** The storage cannot be read any more. */
  function invalidated(error: unknown): void {
    if (closed || status === 'invalidated') return
    stop('invalidated')
    options.warn('invalidated', asLeaseError(error).message, error)
  }

  function stop(end: SyncStatus): void {
    options.unsubscribe()
    setStatus(end)
    options.stop()
  }

  function setStatus(next: SyncStatus): void {
    status = next
    options.onStatus(next)
  }
}
