import type { DocumentLock } from '../../../src/client/index.ts'

const SAVE_AFTER_MS = 600
/** The longest time until a save, also for somebody who never stops typing. */
const SAVE_WITHIN_MS = 2000
const TRY_AGAIN_MS = 2000

/**
 *     loading → saved ⇄ dirty → saving → saved
 *                 ↑       ↓        ↓
 *              discard    kept, refused         the text exists only in this page
 *
 * `kept`: another tab has saved since, or may have. `refused`: the server does not accept this text. `unreadable`: the
 * stored content cannot be shown, so it is overwritten only when the user says so.
 */
export type DraftStatus = 'loading' | 'saved' | 'dirty' | 'saving' | 'kept' | 'refused' | 'unreadable'

export interface DraftState {
  readonly text: string
  readonly status: DraftStatus
  /** The text that the server has stored, as far as this page knows and can read it. */
  readonly stored: string
  /** Why the text was refused, for whoever runs the page. */
  readonly reason: string
}

/** The token of the grant that saved a version; `null`: nothing was saved yet. */
type Base = number | null | 'unreadable'

interface Stored {
  readonly base: Base
  /** `null`: the content cannot be read. */
  readonly text: string | null
}

/**
 * The text of one document: it is loaded, edited while this tab holds the lock, saved automatically, and never lost.
 * A text overwrites only the version that it is based on. The token of that version is its base.
 */
export class Draft {
  readonly #lock: DocumentLock
  readonly #listeners = new Set<() => void>()
  readonly #unsubscribe: () => void
  #state: DraftState = { text: '', status: 'loading', stored: '', reason: '' }
  /** The version that the text is based on. */
  #base: Base = null
  /** The token of the latest grant for which the base was checked. */
  #checkedFor: number | null = null
  /** Rises with every edit, save and load, so that a late response can be ignored. */
  #version = 0
  #dirtySince = 0
  #saving: Promise<void> | undefined
  #seen = { held: false, savedAt: null as string | null, connected: false }
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(lock: DocumentLock) {
    this.#lock = lock
    this.#unsubscribe = lock.subscribe(() => this.#onLock())
    void this.#load()
  }

  get state(): DraftState {
    return this.#state
  }

  /** Whether nothing is lost if the page is closed. */
  get isSafe(): boolean {
    const { status, text, stored } = this.#state
    return status === 'saved' || status === 'loading' || (status === 'unreadable' && text === stored)
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  edit(text: string): void {
    const { status } = this.#state
    if (status === 'unreadable') {
      this.#change({ text })
      return
    }
    this.#version++
    if (status !== 'dirty') this.#dirtySince = Date.now()
    this.#change({ text, status: 'dirty' })
    this.#saveIn(Math.min(SAVE_AFTER_MS, this.#dirtySince + SAVE_WITHIN_MS - Date.now()))
  }

  /** Saves unsaved text now. Rejects if that fails. */
  async flush(): Promise<void> {
    await this.#saving
    if (this.#state.status === 'dirty') await this.#save()
    if (!this.isSafe) throw new Error('not saved')
  }

  /** Shows the stored text and drops the kept one. */
  discard(): void {
    this.#version++
    this.#change({ text: this.#state.stored, status: 'loading' })
    void this.#load()
  }

  /** Overwrites the stored content with this text. This tab must hold the lock. */
  async saveMine(): Promise<void> {
    // Content that could not be read may have been replaced since, so it is read again.
    this.#checkedFor = this.#state.status === 'unreadable' ? null : this.#lock.state.token
    this.#change({ status: 'dirty' })
    await this.#save()
  }

  close(): void {
    if (this.#state.status === 'dirty') void this.#save()
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#unsubscribe()
    this.#listeners.clear()
  }

  #onLock(): void {
    const { held, savedAt, connected, request } = this.#lock.state
    const before = this.#seen
    this.#seen = { held, savedAt, connected }
    const isGranted = held && !before.held
    // Another tab may have saved before the grant. The user must see that text before typing.
    if (isGranted && this.#state.status === 'saved') this.#change({ status: 'loading' })
    if (isGranted || savedAt !== before.savedAt || (connected && !before.connected)) void this.#load()
    // A holder whose lock has expired may still save if nobody got the lock since. A request to hand over: save now.
    const isEnding = (before.held && !held) || request !== null
    if (isEnding && this.#state.status === 'dirty') void this.#save()
  }

  #save(): Promise<void> {
    this.#saving ??= this.#saveOnce().finally(() => {
      this.#saving = undefined
    })
    return this.#saving
  }

  async #saveOnce(): Promise<void> {
    clearTimeout(this.#timer)
    const { text } = this.#state
    const { token } = this.#lock.state
    this.#change({ status: 'saving' })
    try {
      const stored = token === this.#checkedFor ? null : await this.#read()
      if (stored && stored.base !== this.#base) {
        this.#change({ status: 'kept' })
        return this.#onLoaded(stored)
      }
      this.#checkedFor = token
      await this.#lock.save(text)
      this.#version++
      this.#base = token
      const isAll = this.#state.text === text
      this.#change({ stored: text, status: isAll ? 'saved' : 'dirty' })
      if (!isAll) this.#saveIn(SAVE_AFTER_MS)
    } catch (error) {
      this.#onFailure(error as Error & { retryable?: boolean; code?: string })
    }
  }

  #onFailure({ retryable, code, message }: Error & { retryable?: boolean; code?: string }): void {
    if (retryable) {
      this.#change({ status: 'dirty' })
      this.#saveIn(TRY_AGAIN_MS)
    } else {
      this.#change({ status: code === 'stale-token' ? 'kept' : 'refused', reason: message })
      void this.#load()
    }
  }

  async #load(): Promise<void> {
    const version = ++this.#version
    const loaded = await this.#read().catch(() => null)
    if (this.#isClosed || version !== this.#version) return
    if (!loaded)
      setTimeout(() => !this.#isClosed && version === this.#version && void this.#load(), TRY_AGAIN_MS)
    else this.#onLoaded(loaded)
  }

  /** The stored content. Content that is not text belongs to another program, and must not be overwritten either. */
  async #read(): Promise<Stored> {
    try {
      const { content, token } = await this.#lock.load()
      if (content === null || typeof content === 'string') return { base: token, text: content ?? '' }
    } catch (error) {
      if (Object((error as Error).cause).error !== 'content_unreadable') throw error
    }
    return { base: 'unreadable', text: null }
  }

  #onLoaded({ base, text: stored }: Stored): void {
    const { text, status } = this.#state
    const isHeld = this.#lock.state.held
    if (stored === null) {
      // These texts overwrite only the version that they are based on. That is checked again before the save.
      if (status === 'dirty' || status === 'saving' || status === 'refused') return
      this.#base = base
      this.#change({ status: 'unreadable' })
    } else if (this.isSafe || text === stored) {
      this.#base = base
      this.#checkedFor = isHeld ? this.#lock.state.token : null
      this.#change({ text: stored, stored, status: 'saved' })
    } else {
      this.#change({ stored, status: status === 'unreadable' ? 'kept' : status })
      // Nobody has saved since, so this text can be saved.
      if (status === 'kept' && isHeld && base === this.#base) void this.saveMine()
    }
  }

  #saveIn(ms: number): void {
    clearTimeout(this.#timer)
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#save(), ms)
  }

  #change(change: Partial<DraftState>): void {
    this.#state = { ...this.#state, ...change }
    for (const listener of this.#listeners) listener()
  }
}
