import type { Clock } from '../../base/clock.ts'
import { asLeaseError, type LeaseError } from '../../base/errors.ts'
import type { DocumentLock } from '../document-lock-types.ts'
import { retryMs } from '../retry-ms.ts'
import type { DraftCodec } from './codecs.ts'
import type { Version } from './reconcile.ts'
import { decoded } from './unsaved-json.ts'

export interface StoredLoaderOptions<T> {
  readonly lock: DocumentLock
  readonly codec: DraftCodec<T>
  readonly clock: Clock
  readonly onLoaded: (version: Version<T>) => void
  /** It tries again by itself. */
  readonly onFailed: (error: LeaseError) => void
}

/** Loads what is stored, again and again until that succeeds. Of several loads, the latest counts. */
export class StoredLoader<T> {
  readonly #options: StoredLoaderOptions<T>
  /** The last version that could be read. */
  #known: Version<T>
  #latest = 0
  #cancelRetry = () => {}
  failures = 0

  constructor(options: StoredLoaderOptions<T>) {
    this.#options = options
    this.#known = { token: null, content: options.codec.decode(null), savedAt: null }
  }

  get known(): Version<T> {
    return this.#known
  }

  async load(): Promise<void> {
    const { clock, onLoaded, onFailed } = this.#options
    this.#cancelRetry()
    const load = ++this.#latest
    const outcome = await this.read().catch(asLeaseError)
    if (load !== this.#latest) return
    if (outcome instanceof Error) {
      this.#cancelRetry = clock.setTimer(() => void this.load(), retryMs(this.failures++, clock))
      onFailed(outcome)
    } else {
      this.failures = 0
      onLoaded(outcome)
    }
  }

  /** Content that cannot be read may belong to another program, and must not be overwritten either. */
  async read(): Promise<Version<T>> {
    const { lock, codec } = this.#options
    try {
      const { content, token, savedAt } = await lock.load()
      const readable = decoded(codec, content)
      if (readable) {
        this.#known = { token, content: readable[0], savedAt }
        return this.#known
      }
    } catch (error) {
      if (Object(Object(error).cause).error !== 'content_unreadable') throw error
    }
    return { ...this.#known, token: 'unreadable' }
  }

  /** This version was saved, so a load from before that is out of date. */
  remember(version: Version<T>): void {
    this.#known = version
    this.#latest++
    this.#cancelRetry()
  }

  close(): void {
    this.#latest++
    this.#cancelRetry()
  }
}
