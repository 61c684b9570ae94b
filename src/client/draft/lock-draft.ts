import type { Clock } from '../../base/clock.ts'
import { createEmitter } from '../../base/emitter.ts'
import { asLeaseError, LeaseError } from '../../base/errors.ts'
import { pause } from '../../base/pause.ts'
import { isSignedOut } from '../api.ts'
import type { DocumentLock } from '../document-lock-types.ts'
import { retryMs } from '../retry-ms.ts'
import type { DraftCodec } from './codecs.ts'
import type { Unsaved } from './copy-record.ts'
import { followDraftPage } from './draft-page.ts'
import type { Draft, DraftState, DraftStatus } from './draft-types.ts'
import { type CheckedDraftOptions, CLAIM_MS, MOST_SAVES } from './options.ts'
import { isOwn, isSame, type Lazy, lazy, type Mine, reconcile, unchanged, type Version } from './reconcile.ts'
import { StoredLoader } from './stored-loader.ts'
import type { CopyPort } from './unsaved-copy.ts'
import { fromUnsaved, toUnsaved } from './unsaved-json.ts'

const WRITABLE: readonly DraftStatus[] = ['saved', 'dirty', 'saving', 'refused', 'unreadable']
/** The user decides what happens next, or the next grant does. */
const WAITING: readonly DraftStatus[] = ['kept', 'conflict', 'unreadable']
/** Errors after which only another grant helps. */
const OVER: readonly string[] = ['stale-token', 'stale-save', 'lease-lost', 'closed']
/** The content is still to be saved. In any other status, the answer to a save says nothing about the content. */
const PENDING: readonly DraftStatus[] = ['dirty', 'saving', 'kept']
export interface LockDraftOptions<T> extends Omit<CheckedDraftOptions<T>, 'keep'> {
  readonly lock: DocumentLock
  readonly copy: CopyPort | undefined
}

export class LockDraft<T> implements Draft<T> {
  readonly #lock: DocumentLock
  readonly #codec: DraftCodec<T>
  readonly #copy: CopyPort | undefined
  readonly #clock: Clock
  readonly #afterMs: number
  readonly #withinMs: number
  readonly #loader: StoredLoader<T>
  readonly #changes = createEmitter<void>()
  readonly #endings: (() => void)[]
  #state: DraftState<T>
  #status: DraftStatus = 'loading'
  #version = 0
  #mine: Mine<T>
  /** What the user sees as the stored version. */
  #stored: Version<T>
  /** Whether that was ever loaded. */
  #isLoaded = false
  #isOutdated = false
  #dropped: Mine<T> | null = null
  #error: LeaseError | null = null
  /** The grant for which the base was compared with what is stored. */
  #checkedFor: number | null = null
  #saveFailures = 0
  #dirtySince = 0
  #saving: Promise<void> | undefined
  /** A save without a certain outcome: it may be carried out after what is read meanwhile. */
  #sent: { readonly content: Lazy<T>; readonly token: number | null } | null = null
  /** Cancels the save that is due. */
  #cancelSave: (() => void) | undefined
  /** The lock as it was when this draft last heard of it; `null` until it is known what an earlier page left behind. */
  #seen: DocumentLock['state'] | null = null
  /** Whether earlier pages may have left more behind. */
  #hasMore = true
  #isClosed = false

  constructor({ lock, codec, copy, clock, afterMs, withinMs }: LockDraftOptions<T>) {
    this.#lock = lock
    this.#codec = codec
    this.#copy = copy
    this.#clock = clock
    this.#afterMs = afterMs
    this.#withinMs = withinMs
    this.#loader = new StoredLoader({
      lock,
      codec,
      clock,
      onLoaded: (version) => this.#onLoaded(version),
      onFailed: (error) => this.#fail(this.#status, error),
    })
    this.#stored = this.#loader.known
    this.#mine = unchanged(this.#stored)
    this.#state = this.#stateNow()
    const isUnsaved = () => this.#mine.isUnsaved
    this.#endings = [
      lock.subscribe(() => this.#onLock()),
      lock.beforeRelease(() => this.flush()),
      followDraftPage(isUnsaved, () => this.#onHidden()),
    ]
    void this.#open()
  }

  get state(): DraftState<T> {
    return this.#state
  }

  subscribe(listener: () => void): () => void {
    return this.#changes.subscribe(listener)
  }

  edit(content: T | (() => T)): void {
    this.#lock.touch()
    if (this.#isClosed) throw new LeaseError('closed', 'the draft is closed')
    const status = this.#status
    this.#dropped = null
    this.#setMine({ ...this.#mine, content: lazy(content), isUnsaved: true })
    const isPending = status === 'dirty' || status === 'saving'
    const isSavedLater = WAITING.includes(status) || (!isPending && !this.#lock.state.held)
    if (isSavedLater) this.#change(WAITING.includes(status) ? status : 'kept')
    else this.#saveSoon(status)
  }

  async flush(): Promise<void> {
    await this.#saving
    for (let saves = 0; saves < MOST_SAVES && this.#status === 'dirty'; saves++) {
      await this.#save()
      if (this.#saveFailures > 0) break
    }
    if (this.#status === 'dirty') throw this.#error ?? new LeaseError('store-unavailable', 'not saved')
  }

  takeTheirs(): void {
    const { theirs } = this.#mine
    this.#dropped = this.#mine
    // In a conflict it has the user's separate edits, too.
    if (theirs && !isSame(this.#codec, theirs(), this.#stored.content)) {
      void this.#decide(theirs)
      return
    }
    this.#isOutdated = false
    this.#setMine(unchanged(this.#stored))
    this.#change('loading')
    void this.#loader.load()
  }

  bringBack(): void {
    const dropped = this.#dropped
    if (!dropped) return
    this.#dropped = null
    this.#isOutdated = dropped.theirs !== null || !isOwn(dropped, this.#stored, this.#codec)
    this.#setMine(dropped)
    this.#change(dropped.theirs ? 'conflict' : 'kept')
    void this.#loader.load()
  }

  async takeMine(): Promise<void> {
    if (!this.#mine.isUnsaved || (this.#status === 'unreadable' && !this.#lock.state.held)) return
    await this.#decide(this.#mine.content)
  }

  async merge(content: T): Promise<void> {
    this.edit(content)
    await this.takeMine()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#copy?.flush()
    this.#loader.close()
    // The lock waits for this save before it is released.
    await this.flush().catch(() => {})
    this.#cancelSave?.()
    for (const end of this.#endings) end()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Saves this content over the version that the user has seen; without the lock, with the next grant. */
  async #decide(content: Lazy<T>): Promise<void> {
    const { held } = this.#lock.state
    // In a conflict the user sees `theirs`: the stored version may be newer than that.
    const base = this.#mine.theirs ? this.#mine.base : this.#stored
    this.#isOutdated = false
    this.#checkedFor = null
    this.#setMine({ ...this.#mine, content, base, theirs: null })
    this.#change(held ? 'dirty' : 'kept')
    if (held) await this.#save()
  }

  async #open(): Promise<void> {
    const claimed = this.#claim()
    const early = await Promise.race([claimed, pause(this.#clock, CLAIM_MS, { background: true })])
    if (this.#isClosed) return
    this.#seen = this.#lock.state
    await this.#loader.load()
    if (early === undefined && (await claimed)) await this.#loader.load()
  }

  /** A page that was closed or has crashed may have left unsaved content. Resolves with whether it was taken. */
  async #claim(): Promise<boolean> {
    let isTaken = false
    this.#hasMore = false
    const take = (unsaved: Unsaved) => {
      isTaken = this.#take(unsaved)
      return isTaken
    }
    await this.#copy?.claim(take, () => this.#onLeft()).catch(() => {})
    return isTaken
  }

  /** Another page of this document has ended. */
  #onLeft(): void {
    this.#hasMore = true
    if (this.#status === 'saved') this.#openMore()
  }

  #openMore(): void {
    if (this.#hasMore && !this.#dropped && !this.#isClosed) void this.#open()
  }

  #take(unsaved: Unsaved): boolean {
    const mine = fromUnsaved(this.#codec, unsaved)
    if (!mine) return false
    this.#hasMore = true
    if (this.#mine.isUnsaved || this.#dropped || this.#isClosed) return false
    this.#mine = mine
    this.#version++
    // Until the stored version is loaded, the one before is all that the user has seen.
    if (!this.#isLoaded) this.#stored = mine.base
    this.#change(mine.theirs ? 'conflict' : 'kept')
    return true
  }

  #onHidden(): void {
    this.#copy?.flush()
    this.flush().catch(() => {})
  }

  #onLock(): void {
    const before = this.#seen
    if (!before || this.#isClosed) return
    const { held, savedAt, gaps, request, connected } = this.#lock.state
    this.#seen = this.#lock.state
    const isGranted = held && !before.held
    // Another tab may have saved before the grant. The user must see that before typing.
    if (held !== before.held) this.#change(isGranted && this.#status === 'saved' ? 'loading' : this.#status)
    // While this tab holds the lock, nobody else saves.
    const mayBeMissing = !held && gaps !== before.gaps
    const isBack = connected && !before.connected
    const isLoadDue = isBack && this.#loader.failures > 0
    if (isGranted || savedAt !== before.savedAt || mayBeMissing || isLoadDue) void this.#loader.load()
    // A holder whose lock has expired may still save if nobody got the lock since. A request to hand over: save now.
    const isEnding = (before.held && !held) || request !== null
    if (isEnding || (isBack && this.#saveFailures > 0)) this.#saveIn(0)
  }

  #saveSoon(status: DraftStatus): void {
    const now = this.#clock.monotonic()
    if (status !== 'dirty') this.#dirtySince = now
    this.#change('dirty')
    // After a failure, the next attempt has its own time.
    if (this.#saveFailures === 0 || !this.#cancelSave)
      this.#saveIn(Math.min(this.#afterMs, this.#dirtySince + this.#withinMs - now))
  }

  #saveIn(ms: number): void {
    this.#cancelSave?.()
    if (this.#isClosed) return
    this.#cancelSave = this.#clock.setTimer(() => {
      this.#cancelSave = undefined
      const isRetry = this.#status === 'kept' && this.#saveFailures > 0
      if (this.#status === 'dirty' || isRetry) void this.#save()
    }, ms)
  }

  #save(): Promise<void> {
    this.#saving ??= this.#saveOnce().finally(() => {
      this.#saving = undefined
      // What became due during this save.
      if (this.#status === 'dirty' && !this.#cancelSave) this.#saveIn(this.#afterMs)
    })
    return this.#saving
  }

  async #saveOnce(): Promise<void> {
    this.#cancelSave?.()
    this.#cancelSave = undefined
    const { token, held } = this.#lock.state
    if (held) this.#change('saving')
    try {
      const stored = token === this.#checkedFor ? null : await this.#loader.read()
      if (stored && token !== this.#lock.state.token) {
        // Another tab may have saved between the two grants, after this was read.
        this.#change('kept')
        void this.#loader.load()
        return
      }
      if (stored && !isOwn(this.#mine, stored, this.#codec)) {
        this.#change('kept')
        this.#onLoaded(stored)
        return
      }
      // While this was read, another load may have shown that nothing is to be saved, or that the user has to decide.
      if (!this.#mine.isUnsaved || !PENDING.includes(this.#status)) return
      this.#checkedFor = token
      if (stored || this.#mine.sentWith !== token)
        this.#setMine({ ...this.#mine, base: stored ?? this.#mine.base, sentWith: token })
      const { content, base } = this.#mine
      const encoded = this.#codec.encode(content())
      this.#sent = { content, token }
      await this.#lock.save(encoded)
      this.#onSaved(content, token, base)
    } catch (error) {
      this.#onSaveFailed(asLeaseError(error))
    }
  }

  /** `base`: the version that the saved content was made from. */
  #onSaved(content: Lazy<T>, token: number | null, base: Version<T>): void {
    this.#sent = null
    this.#saveFailures = 0
    this.#error = null
    this.#isOutdated = false
    this.#stored = { token, content: content(), savedAt: new Date(this.#clock.now()).toISOString() }
    this.#loader.remember(this.#stored)
    const isAll = this.#mine.content === content
    if (this.#dropped?.content === content) this.#dropped = null
    // What an earlier page left behind, or was brought back meanwhile, was not made from this content.
    const isContinued = this.#mine.base === base && PENDING.includes(this.#status)
    if (!isAll && !isContinued) this.#onLoaded(this.#stored)
    else {
      this.#setMine({ ...this.#mine, base: this.#stored, theirs: null, isUnsaved: !isAll })
      if (isAll) this.#onAllSaved()
      else this.#change('dirty')
    }
  }

  #onAllSaved(): void {
    this.#change('saved')
    this.#openMore()
  }

  #onSaveFailed(error: LeaseError): void {
    if (!error.retryable) this.#sent = null
    if (!PENDING.includes(this.#status)) return
    // Somebody who was signed out may sign in again.
    if (error.retryable || isSignedOut(error)) {
      const ms = retryMs(this.#saveFailures++, this.#clock)
      this.#fail(this.#lock.state.held ? 'dirty' : 'kept', error)
      this.#saveIn(ms)
    } else {
      this.#saveFailures = 0
      this.#fail(OVER.includes(error.code) ? 'kept' : 'refused', error)
      void this.#loader.load()
    }
  }

  #onLoaded(stored: Version<T>): void {
    const [before, status] = [this.#mine, this.#status]
    const { held, token } = this.#lock.state
    this.#isLoaded = true
    this.#stored = stored
    if (status !== 'refused') this.#error = null
    if (stored.token === 'unreadable') {
      // A save overwrites only its base. That is checked before the save.
      const isChecked = status === 'dirty' || status === 'saving' || status === 'refused'
      if (!isChecked) this.#setMine({ ...before, base: { ...before.base, token: stored.token } })
      this.#change(isChecked ? status : 'unreadable')
      return
    }
    const { mine, outcome } = reconcile(before, stored, held, this.#codec)
    // The next save tells: it comes after the one that is on its way.
    if (outcome === 'same' && before.isUnsaved && this.#mayBeReplaced(stored, before)) return
    const isBehind = outcome === 'behind' || outcome === 'overlap'
    // The save is about to be refused.
    if (isBehind && status === 'saving') return
    this.#isOutdated = isBehind
    if (mine !== before) this.#setMine(mine)
    if (!isBehind) this.#checkedFor = held ? token : null
    else this.#saveFailures = 0
    if (outcome === 'same') this.#onAllSaved()
    else if (outcome === 'overlap') this.#change('conflict')
    else if (outcome === 'behind') this.#change('kept')
    else if (mine.content === before.content && !WAITING.includes(status)) this.#change(status)
    else {
      this.#change(held ? 'dirty' : 'kept')
      if (held) void this.#save()
    }
  }

  /** Whether another content than mine is on its way to the server, and no later grant keeps it from being stored. */
  #mayBeReplaced(stored: Version<T>, { content }: Mine<T>): boolean {
    const sent = this.#sent
    if (!sent || sent.content === content || sent.token !== this.#lock.state.token) return false
    return Number(stored.token) <= Number(sent.token)
  }

  #setMine(mine: Mine<T>): void {
    if (mine.content !== this.#mine.content) this.#version++
    this.#mine = mine
    this.#copy?.keep(mine.isUnsaved ? () => toUnsaved(this.#codec, mine) : null)
  }

  #fail(status: DraftStatus, error: LeaseError): void {
    // Why the content was refused says more than why it cannot be loaded.
    if (this.#status !== 'refused' || status !== 'refused') this.#error = error
    this.#change(status)
  }

  #change(status: DraftStatus): void {
    this.#status = status
    this.#state = this.#stateNow()
    this.#changes.emit()
  }

  #stateNow(): DraftState<T> {
    const { content, theirs, isUnsaved } = this.#mine
    const dropped = this.#dropped
    return {
      status: this.#status,
      get content() {
        return content()
      },
      version: this.#version,
      isWritable: this.#lock.state.held && WRITABLE.includes(this.#status),
      isUnsaved,
      stored: this.#stored.content,
      savedAt: this.#stored.savedAt,
      isOutdated: this.#isOutdated,
      get theirs() {
        return theirs ? theirs() : null
      },
      get dropped() {
        return dropped ? dropped.content() : null
      },
      error: this.#error,
    }
  }
}
