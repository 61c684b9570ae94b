import type { DocumentLock } from '../../../src/client/index.ts'

const SAVE_AFTER_MS = 600
const TRY_AGAIN_MS = 2000

/**
 *     loading → saved ⇄ dirty → saving → saved
 *                         ↓        ↓
 *                            kept            the lock is gone, or the save was refused: the text is only here
 */
export type DraftStatus = 'loading' | 'saved' | 'dirty' | 'saving' | 'kept'

export interface DraftState {
  readonly text: string
  readonly status: DraftStatus
  /** What is stored at the server, as far as is known. */
  readonly stored: string
}

/** The text of one document: loaded, edited while one holds the lock, saved by itself, and never lost. */
export class Draft {
  readonly #lock: DocumentLock
  readonly #listeners = new Set<() => void>()
  readonly #unsubscribe: () => void
  #state: DraftState = { text: '', status: 'loading', stored: '' }
  #heardOfSave: string | null = null
  #wasHeld = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(lock: DocumentLock) {
    this.#lock = lock
    this.#unsubscribe = lock.subscribe(() => this.#onLock())
    void this.#load()
  }

  get state(): DraftState {
    return this.#state
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  edit(text: string): void {
    this.#change({ text, status: 'dirty' })
    this.#saveIn(SAVE_AFTER_MS)
  }

  /** Saves now what is not saved yet. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    const { text, status } = this.#state
    if (status !== 'dirty') return
    this.#change({ status: 'saving' })
    try {
      await this.#lock.save(text)
      this.#change({ stored: text, status: this.#state.text === text ? 'saved' : 'dirty' })
      if (this.#state.status === 'dirty') this.#saveIn(SAVE_AFTER_MS)
    } catch (error) {
      const mayTryAgain = (error as { retryable?: boolean }).retryable === true
      this.#change({ status: mayTryAgain ? 'dirty' : 'kept' })
      if (mayTryAgain) this.#saveIn(TRY_AGAIN_MS)
      else void this.#load()
    }
  }

  /** Shows what is stored; the kept text is given up. */
  discard(): void {
    this.#change({ text: this.#state.stored, status: 'saved' })
    void this.#load()
  }

  /** Saves the kept text over what is stored. One must hold the lock. */
  async saveMine(): Promise<void> {
    this.#change({ status: 'dirty' })
    await this.flush()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#unsubscribe()
    this.#listeners.clear()
  }

  #onLock(): void {
    const { phase, savedAt } = this.#lock.state
    const isHeld = phase === 'held'
    const wasHeld = this.#wasHeld
    this.#wasHeld = isHeld
    if (savedAt !== this.#heardOfSave) {
      this.#heardOfSave = savedAt
      void this.#load()
    } else if (isHeld && !wasHeld) void this.#load()
    // A lapsed holder whom nobody has followed may still save.
    if (wasHeld && !isHeld) void this.flush()
  }

  async #load(): Promise<void> {
    const { stored: before } = this.#state
    const loaded = await this.#lock.load().catch(() => null)
    if (!loaded) return
    const stored = typeof loaded.content === 'string' ? loaded.content : ''
    const { text, status } = this.#state
    if (status === 'loading' || status === 'saved' || text === stored)
      this.#change({ text: stored, stored, status: 'saved' })
    else {
      this.#change({ stored })
      const isMineAgain = status === 'kept' && this.#lock.state.phase === 'held'
      if (isMineAgain && stored === before) await this.saveMine()
    }
  }

  #saveIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.flush(), ms)
  }

  #change(change: Partial<DraftState>): void {
    this.#state = { ...this.#state, ...change }
    for (const listener of this.#listeners) listener()
  }
}
