import { expectMethods, expectOptions } from '../base/arguments.ts'
import { createEmitter } from '../base/emitter.ts'
import { asLeaseError, LeaseError, messageOf } from '../base/errors.ts'
import { workerClock } from '../worker-clock/index.ts'
import type { DocumentLock, SavedDocument } from './document-lock-types.ts'
import type { DraftCodec } from './draft/codecs.ts'
import type { FollowContentOptions } from './options.ts'
import { retryMs } from './retry-ms.ts'

/** What was last saved, as far as this tab knows. */
export interface SavedContent<T = unknown> extends SavedDocument {
  /** Without a codec: `null` until something was saved. */
  readonly content: T
  /** False until the content is known, and after each grant until it is known what others have saved before. */
  readonly isLoaded: boolean
  /** Why the last load failed, or why what was loaded cannot be read. */
  readonly error: LeaseError | null
}

export interface FollowedContent<T = unknown> extends AsyncDisposable {
  /** A new object after each change. */
  readonly state: SavedContent<T>
  /** Called after every change. Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void
  /** Loads again, for example after an error. */
  reload(): Promise<void>
  close(): Promise<void>
}

export const NOT_LOADED: SavedContent<null> = {
  content: null,
  token: null,
  savedAt: null,
  isLoaded: false,
  error: null,
}

/**
 * Loads what is saved: at once, after every grant, and whenever another tab has saved or may have saved. What this page
 * saves itself is loaded when its turn has ended. A load that failed is repeated. Writing may begin when `isLoaded` is
 * true and the lock is held. Throws `invalid-argument`. A load that fails is in `state.error`: `store-unavailable` is
 * repeated, and `store-failed` if the codec throws.
 *
 * @example
 * const saved = followContent(lock, { codec: jsonCodec({ title: '' }) })
 * saved.subscribe(() => show(saved.state.content.title))
 */
export function followContent<T = unknown>(lock: DocumentLock): FollowedContent<T | null>
export function followContent<T>(
  lock: DocumentLock,
  options: FollowContentOptions<T> & { readonly codec: Pick<DraftCodec<T>, 'decode'> },
): FollowedContent<T>
export function followContent<T>(
  lock: DocumentLock,
  options?: FollowContentOptions<T>,
): FollowedContent<T | null>
export function followContent<T>(
  lock: DocumentLock,
  options: FollowContentOptions<T> = {},
): FollowedContent<T | null> {
  expectMethods('lock', lock, 'a DocumentLock', 'subscribe', 'load')
  expectOptions(options, { codec: 1 })
  const { codec } = options
  if (codec !== undefined) expectMethods('codec', codec, 'a DraftCodec', 'decode')
  const changes = createEmitter<void>()
  let state: SavedContent<T | null> = codec ? { ...NOT_LOADED, content: codec.decode(null) } : NOT_LOADED
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
      change(decoded(outcome))
    }
  }

  function decoded(saved: SavedDocument): Partial<SavedContent<T | null>> {
    try {
      const content = codec ? codec.decode(saved.content) : (saved.content as T)
      return { ...saved, content, isLoaded: true, error: null }
    } catch (cause) {
      const message = `the saved content cannot be read: ${messageOf(cause)}`
      // Nobody should write over what they have not seen.
      return { isLoaded: false, error: new LeaseError('store-failed', message, { cause }) }
    }
  }

  function change(changed: Partial<SavedContent<T | null>>): void {
    state = { ...state, ...changed }
    changes.emit()
  }

  async function close(): Promise<void> {
    latestLoad++
    cancelRetry()
    unsubscribe()
  }
}
