import type { DocumentLock } from '../../../src/client/index.ts'
import type { UnsavedCopy, UnsavedText } from './unsaved-copy.ts'

const SAVE_AFTER_MS = 600
/** The longest time until a save, also for somebody who never stops typing. */
const SAVE_WITHIN_MS = 2000
const TRY_AGAIN_MS = 2000

/**
 *     loading → saved ⇄ dirty → saving → saved
 *                 ↑       ↓        ↓
 *         takeTheirs      kept, refused         the text exists only in this page
 *
 * `kept`: this tab has lost the lock before it could save. `refused`: the server does not accept this text.
 * `unreadable`: the stored content cannot be shown, so it is overwritten only when the user says so.
 */
export type DraftStatus = 'loading' | 'saved' | 'dirty' | 'saving' | 'kept' | 'refused' | 'unreadable'

export interface DraftState {
  readonly text: string
  readonly status: DraftStatus
  /** The text that the server has stored, as far as this page knows and can read it. */
  readonly stored: string
  /** When it was stored (ISO 8601); `null`: nothing was saved yet. */
  readonly savedAt: string | null
  /** Whether somebody has saved another version than the one that this text is based on. */
  readonly isOutdated: boolean
  /** The text that the user gave up for the stored one. */
  readonly dropped: string | null
  /** Why the text was refused, for whoever runs the page. */
  readonly reason: string
}

/** The token of the grant that saved a version; `null`: nothing was saved yet. */
type Base = UnsavedText['base']

interface Stored {
  readonly base: Base
  /** `null`: the content cannot be read. */
  readonly text: string | null
  readonly savedAt: string | null
}

export const EMPTY_DRAFT: DraftState = {
  text: '',
  status: 'loading',
  stored: '',
  savedAt: null,
  isOutdated: false,
  dropped: null,
  reason: '',
}

interface SaveError extends Error {
  readonly retryable?: boolean
  readonly code?: string
}

/**
 * The text of one document: it is loaded, edited while this tab holds the lock, saved automatically, and never lost.
 * A text overwrites only the version that it is based on. The token of that version is its base.
 */
export class Draft {
  readonly #lock: DocumentLock
  readonly #listeners = new Set<() => void>()
  readonly #unsubscribe: () => void
  readonly #copy: UnsavedCopy | undefined
  #state = EMPTY_DRAFT
  /** The version that the text is based on. */
  #base: Base = null
  /** The version that the user sees as the stored one. */
  #storedBase: Base = null
  /** The version that the dropped text was based on. */
  #droppedBase: Base = null
  /** The token of the latest grant for which the base was checked. */
  #checkedFor: number | null = null
  /** Rises with every edit, save and load, so that a late response can be ignored. */
  #version = 0
  #dirtySince = 0
  #saving: Promise<void> | undefined
  #seen = { held: false, savedAt: null as string | null, connected: false }
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Whether it is known what an earlier page left behind. */
  #isOpen = false
  #isClosed = false

  constructor(lock: DocumentLock, copy?: UnsavedCopy) {
    this.#lock = lock
    this.#copy = copy
    this.#unsubscribe = lock.subscribe(() => this.#onLock())
    void this.#open()
  }

  get state(): DraftState {
    return this.#state
  }

  /** Whether nothing is lost if the page is closed. */
  get isSafe(): boolean {
    const { status, text, stored } = this.#state
    return status === 'saved' || status === 'loading' || (status === 'unreadable' && text === stored)
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  edit(text: string): void {
    const { status } = this.#state
    if (status === 'unreadable' || status === 'kept') {
      this.#change({ text })
      return
    }
    this.#version++
    if (status !== 'dirty') this.#dirtySince = Date.now()
    this.#change({ text, status: 'dirty', dropped: null })
    this.#saveIn(Math.min(SAVE_AFTER_MS, this.#dirtySince + SAVE_WITHIN_MS - Date.now()))
  }

  /** Saves unsaved text now. Rejects if the server does not answer. Text that it does not accept stays here. */
  async flush(): Promise<void> {
    await this.#saving
    if (this.#state.status === 'dirty') await this.#save()
    if (this.#state.status === 'dirty') throw new Error('not saved')
  }

  /** Shows the stored text. The other one can be brought back. */
  takeTheirs(): void {
    const { text, stored } = this.#state
    this.#version++
    this.#droppedBase = this.#base
    this.#change({ text: stored, status: 'loading', dropped: text })
    void this.#load()
  }

  /** Undoes `takeTheirs`. Nothing is saved by that. */
  bringBack(): void {
    const { dropped, text } = this.#state
    if (dropped === null || !this.isSafe) return
    this.#version++
    this.#base = this.#droppedBase
    this.#change({ text: dropped, status: 'kept', isOutdated: dropped !== text, dropped: null })
    void this.#load()
  }

  /**
   * Overwrites the stored content that the user has seen. This tab must hold the lock. If another version is stored by
   * now, nothing is overwritten, and the user sees that one.
   */
  async saveMine(): Promise<void> {
    this.#base = this.#storedBase
    this.#checkedFor = null
    this.#change({ status: 'dirty' })
    await this.#save()
  }

  /** The page may be about to close: saves what can be saved, and keeps a copy of the rest. */
  onHidden(): void {
    this.#copy?.flush()
    this.flush().catch(() => {})
  }

  close(): void {
    this.#copy?.flush()
    if (this.#state.status === 'dirty') void this.#save()
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#unsubscribe()
    this.#listeners.clear()
  }

  /** A page that was closed or has crashed may have left unsaved text. */
  async #open(): Promise<void> {
    const left = await this.#copy?.claim()
    if (this.#isClosed) return
    this.#isOpen = true
    if (left) {
      this.#base = left.base
      this.#change({ text: left.text, status: 'kept' })
    }
    await this.#load()
  }

  #onLock(): void {
    if (!this.#isOpen) return
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
      this.#storedBase = token
      const savedAt = new Date().toISOString()
      this.#change({ stored: text, savedAt, isOutdated: false, status: isAll ? 'saved' : 'dirty' })
      if (!isAll) this.#saveIn(SAVE_AFTER_MS)
    } catch (error) {
      this.#onFailure(error as SaveError)
    }
  }

  #onFailure({ retryable, code, message, cause }: SaveError): void {
    // Somebody who was signed out may sign in again.
    if (retryable || Object(cause).status === 401) {
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
      const { content, token, savedAt } = await this.#lock.load()
      if (content === null || typeof content === 'string')
        return { base: token, text: content?.replace(/\r\n?/g, '\n') ?? '', savedAt }
    } catch (error) {
      if (Object((error as Error).cause).error !== 'content_unreadable') throw error
    }
    return { base: 'unreadable', text: null, savedAt: null }
  }

  #onLoaded({ base, text: stored, savedAt }: Stored): void {
    const { text, status } = this.#state
    const isHeld = this.#lock.state.held
    this.#storedBase = base
    if (stored === null) {
      // These texts overwrite only the version that they are based on. That is checked again before the save.
      if (status === 'dirty' || status === 'saving' || status === 'refused') return
      this.#base = base
      this.#change({ status: 'unreadable' })
    } else if (this.isSafe || text === stored) {
      this.#base = base
      this.#checkedFor = isHeld ? this.#lock.state.token : null
      this.#change({ text: stored, stored, savedAt, isOutdated: false, status: 'saved' })
    } else {
      const isOutdated = base !== this.#base
      this.#change({ stored, savedAt, isOutdated, status: status === 'unreadable' ? 'kept' : status })
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
    if (!this.#isClosed) this.#copy?.keep(this.isSafe ? null : { text: this.#state.text, base: this.#base })
    for (const listener of this.#listeners) listener()
  }
}
