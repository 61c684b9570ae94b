import { createChannel } from '../base/channel.ts'
import { asLeaseError, type LeaseError } from '../base/errors.ts'
import { workerClock } from '../worker-clock/index.ts'
import type { DocumentLock, SavedDocument } from './document-lock-types.ts'
import { retryMs } from './retry-ms.ts'

/** What was last saved, as far as this tab knows. */
export interface SavedContent extends SavedDocument {
  /** False until the content is known, and after each grant until it is known what others have saved before. */
  readonly isLoaded: boolean
  /** Why the last load failed. */
  readonly error: LeaseError | null
}

export interface FollowedContent extends AsyncDisposable {
  /** A new object after each change. */
  readonly state: SavedContent
  /** Called after every change. Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void
  /** Loads again, for example after an error. */
  reload(): Promise<void>
  close(): Promise<void>
}

export const NOT_LOADED: SavedContent = {
  content: null,
  token: null,
  savedAt: null,
  isLoaded: false,
  error: null,
}

/**
 * Loads what is saved: at once, after every grant, and whenever another tab has saved or may have saved. A load that
 * failed is repeated. Writing may begin when `isLoaded` is true and the lock is held.
 *
 * @example
 * const saved = followContent(lock)
 * saved.subscribe(() => show(saved.state.content))
 */
export function followContent(lock: DocumentLock): FollowedContent {
  const changes = createChannel<void>()
  let state = NOT_LOADED
  let seen = lock.state
  let latestLoad = 0
  let failures = 0
  let cancelRetry = () => {}
  const clock = workerClock()
  const unsubscribe = lock.subscribe(onLock)
  void reload()
  return {
    get state() {
      return state
    },
    subscribe: changes.subscribe,
    reload,
    close,
    [Symbol.asyncDispose]: close,
  }

  function onLock(): void {
    const before = seen
    seen = lock.state
    const { held, savedAt, gaps } = seen
    const isTurned = held !== before.held
    const isNews = savedAt !== before.savedAt || gaps !== before.gaps
    if (isTurned && held) change({ isLoaded: false })
    // While this tab holds the lock, nobody else saves.
    if (isTurned || (isNews && (!held || !state.isLoaded))) void reload()
  }

  async function reload(): Promise<void> {
    cancelRetry()
    const load = ++latestLoad
    const outcome = await lock.load().catch(asLeaseError)
    // A later load, or the end, has made this one obsolete.
    if (load !== latestLoad) return
    if (outcome instanceof Error) {
      // Without a load the holder could not write, and would keep everybody else from writing.
      if (outcome.retryable) cancelRetry = clock.setTimer(() => void reload(), retryMs(failures++, clock))
      change({ error: outcome })
    } else {
      failures = 0
      change({ ...outcome, isLoaded: true, error: null })
    }
  }

  function change(changed: Partial<SavedContent>): void {
    state = { ...state, ...changed }
    changes.emit()
  }

  async function close(): Promise<void> {
    latestLoad++
    cancelRetry()
    unsubscribe()
  }
}
