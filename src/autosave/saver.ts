/** Saves the project whenever it is due, while it holds the lock. The phases are in `state.ts`. */

import type { ProjectLockLease } from '../project/index.ts'
import { delayAfter } from '../project/options.ts'
import { type Archive, type Contents, createArchive } from './archive.ts'
import { EditTracker } from './edit-tracker.ts'
import { AutoSaveError, asLockFailure, asWriteError, orLoadError } from './errors.ts'
import { createPageJournal, type PageJournal } from './journal.ts'
import type { checkOptions } from './options.ts'
import { LAST_WAIT_MS } from './options.ts'
import { createReadOnly } from './read-only.ts'
import { timeOf } from './save-file.ts'
import { createSchedule, onPageLeft, type Schedule } from './schedule.ts'
import { canTakeover, maySave } from './state.ts'
import { createStateStore, type StateStore } from './state-store.ts'
import { connectTabs } from './tab-channel.ts'
import type { AutoSavePhase, AutoSaveState } from './types.ts'
import { writeSave } from './write-save.ts'
import { WriterLock } from './writer-lock.ts'

export class Saver<T> {
  readonly store: StateStore
  readonly archive: Archive
  readonly tracker = new EditTracker()
  readonly journal: PageJournal
  /** Resolves when the directory was read for the first time. */
  readonly started: Promise<void>
  readonly #settings: ReturnType<typeof checkOptions<T>>
  readonly #readOnly: ReturnType<typeof createReadOnly>
  readonly #lock: WriterLock
  readonly #schedule: Schedule
  readonly #tabs: ReturnType<typeof connectTabs>
  readonly #stopListening: () => void
  /** Failed saves in a row. */
  #failures = 0
  #cancelRetry: (() => void) | undefined
  /** The save under way. */
  #saving: Promise<void> | null = null
  #closed: Promise<void> | undefined
  /** What the directory contains. Known only as long as no other tab may write there. */
  #contents: Contents | null = null
  /** The lease under which the journals of other tabs were searched. */
  #searched: string | undefined

  constructor(settings: ReturnType<typeof checkOptions<T>>) {
    const { clock } = settings
    this.#settings = settings
    this.store = createStateStore(clock, (phase, before) => this.#onPhaseChange(phase, before))
    if (settings.onEvent) this.store.subscribe(settings.onEvent)
    this.archive = createArchive(settings.open)
    this.journal = createPageJournal({
      ...settings,
      tracker: this.tracker,
      onWritten: (bytes) => this.store.emit({ type: 'autosave:journaled', bytes }),
      onError: (error) => this.store.emitError('journal', error),
    })
    this.#readOnly = createReadOnly({
      store: this.store,
      isClosed: () => this.isClosed(),
      joinQueue: () => this.#lock.joinQueue(),
      forgetContents: () => {
        this.#contents = null
      },
      saveAgain: () => void this.#save(),
    })
    const onGranted = (lease: ProjectLockLease) => this.#onGranted(lease)
    this.#lock = new WriterLock(settings, { onGranted, ...this.#readOnly })
    this.#schedule = createSchedule(clock, settings, () => void this.#save())
    this.#tabs = connectTabs({
      ...settings,
      ...this.#readOnly,
      lock: this.#lock,
      saveNow: () => this.saveNow(),
      onSaved: (id) => this.#onSaved(id),
    })
    this.#stopListening = onPageLeft(() => this.#onLeave())
    this.started = this.archive.scan().then(
      ({ current }) => this.tracker.setBase(current),
      () => {},
    )
    if (settings.eager && settings.hold === 'session') void this.#save()
  }

  async takeover(): Promise<AutoSaveState> {
    if (!canTakeover(this.store.state)) return this.store.state
    this.store.dispatch({ type: 'taking-over', isOn: true })
    try {
      await this.#tabs.takeover()
    } catch (error) {
      if (!this.#closed) this.store.emitError('acquire', asLockFailure(error).error)
      this.#lock.joinQueue()
    }
    this.store.dispatch({ type: 'taking-over', isOn: false })
    return this.store.state
  }

  isClosed(): boolean {
    return this.#closed !== undefined
  }

  changed(): void {
    if (this.#closed) return
    this.tracker.onEdit()
    this.store.dispatch({ type: 'edited' })
    if (this.store.state.phase !== 'debouncing') return
    this.#schedule.edit()
    // An edit requests the lock. If it is refused, the save reports that.
    if (this.#settings.hold === 'session') this.#lock.acquire().catch(() => {})
  }

  #onPhaseChange(phase: AutoSavePhase, before: AutoSavePhase): void {
    if (phase === 'debouncing') this.#schedule.edit()
    if (before === 'debouncing') this.#schedule.cancel()
  }

  async saveNow(): Promise<void> {
    await this.#saving
    if (this.tracker.isUnsaved) await this.#save()
  }

  #save(): Promise<void> {
    if (!maySave(this.store.state)) return this.#saving ?? Promise.resolve()
    // The save under way has lost its lock. It must end before the next one begins.
    if (this.#saving) return this.#saving.then(() => this.#save())
    this.#cancelRetry?.()
    this.store.dispatch({ type: 'due' })
    this.#saving = this.#acquireAndSave().finally(() => {
      this.#saving = null
    })
    return this.#saving
  }

  async #acquireAndSave(): Promise<void> {
    let lease: ProjectLockLease
    try {
      lease = await this.#lock.acquire()
    } catch (error) {
      return this.#readOnly.onRefused(error)
    }
    try {
      await this.#saveUnlessConflict(lease)
    } catch (error) {
      this.#onFailed(asWriteError(error))
    }
    if (this.#settings.hold === 'save') await this.#releaseLock()
  }

  async #saveUnlessConflict(lease: ProjectLockLease): Promise<void> {
    while (await this.#checkConflict(lease)) {
      try {
        return await this.#saveWith(lease)
      } catch (error) {
        if (asWriteError(error).code !== 'conflict') throw error
        // Another tab saved, although this one holds the lock. What it saved decides.
        this.#contents = null
      }
    }
  }

  /** Reads what other tabs may have saved while this tab did not have the lock. False: that is a conflict. */
  async #checkConflict(lease: ProjectLockLease): Promise<boolean> {
    await this.started
    this.#contents ??= await this.archive.scan()
    if (!this.#lock.mayWrite(lease)) throw new AutoSaveError('lock-unavailable', 'the lock is not held now')
    // The previous holder may have left edits that it could not save.
    if (lease.id !== this.#searched) this.journal.searchNews(this.#contents.current)
    this.#searched = lease.id
    const stale = this.tracker.isBehind(this.#contents.current) || this.journal.news.length > 0
    this.store.dispatch({ type: 'granted', backend: lease.backend, stale, unsaved: this.tracker.isUnsaved })
    if (!stale || !this.tracker.isUnsaved) return true
    this.#readOnly.onConflict()
    return false
  }

  async #saveWith(lease: ProjectLockLease): Promise<void> {
    const { backend } = lease
    const begun = this.#settings.clock.monotonic()
    const included = this.tracker.edits
    const before = this.#contents
    if (!before || !this.tracker.isUnsaved) return this.#onFinished()
    this.store.dispatch({ type: 'writing' })
    const written = await writeSave(
      {
        archive: this.archive,
        clock: this.#settings.clock,
        limits: this.#settings,
        read: this.#settings.read,
        onSerialized: ({ checksum }) => this.tracker.onSaving(checksum),
        holdsLock: () => this.#lock.mayWrite(lease),
        onWritten: () => this.store.dispatch({ type: 'written' }),
        onSpaceFreed: (removed) => this.store.emit({ type: 'autosave:collected', removed }),
      },
      before,
    )
    this.tracker.onSaved(included)
    this.#failures = 0
    if (!this.tracker.isUnsaved) this.journal.clear()
    if (!written) return this.#onFinished()
    const { id, bytes } = written.save
    this.tracker.setBase(written.save)
    if (this.#contents) this.#contents = written.contents
    this.#tabs.announce(id)
    this.store.dispatch({
      type: 'committed',
      at: timeOf(id) ?? this.#settings.clock.now(),
      by: backend,
      unsaved: this.tracker.isUnsaved,
    })
    this.store.emit({
      type: 'autosave:saved',
      bytes,
      tookMs: this.#settings.clock.monotonic() - begun,
      backend,
    })
    try {
      const removed = await written.collect()
      if (removed > 0) this.store.emit({ type: 'autosave:collected', removed })
    } catch (error) {
      // The save is complete. The next one removes what is left.
      this.store.emitError('collect', asWriteError(error))
      this.#contents = null
    }
    this.#onFinished()
  }

  #onFinished(): void {
    this.store.dispatch({ type: 'finished', unsaved: this.tracker.isUnsaved })
  }

  #onFailed(error: AutoSaveError): void {
    this.store.emitError('write', error)
    this.#contents = null
    const delayMs = error.retryable ? delayAfter(++this.#failures) : null
    this.store.dispatch({
      type: 'failed',
      error,
      retryAt: delayMs === null ? null : this.#settings.clock.now() + delayMs,
    })
    if (this.store.state.phase !== 'backoff' || delayMs === null) {
      this.#failures = 0
      return
    }
    this.store.emit({ type: 'autosave:retry', attempt: this.#failures, delayMs })
    this.#cancelRetry = this.#settings.clock.setTimer(() => void this.#save(), delayMs)
  }

  async #onGranted(lease: ProjectLockLease): Promise<void> {
    try {
      await this.#checkConflict(lease)
    } catch {
      if (!this.#lock.isCurrent(lease)) return this.#lock.joinQueue()
      // The directory cannot be read now. The next save reads it again.
      this.store.dispatch({
        type: 'granted',
        backend: lease.backend,
        stale: false,
        unsaved: this.tracker.isUnsaved,
      })
    }
    if (this.#settings.hold === 'save' && this.store.state.phase !== 'debouncing') await this.#releaseLock()
  }

  #onSaved(id: string): void {
    this.tracker.announced = id
    this.#contents = null
    if (this.tracker.isOutdated) this.store.dispatch({ type: 'outdated' })
  }

  async #releaseLock(): Promise<void> {
    this.#contents = null
    await this.#lock.release().catch(() => {})
    this.store.dispatch({ type: 'released' })
  }

  async acceptCurrentAsBase(): Promise<void> {
    const { base } = this.tracker
    const { current } = await orLoadError(this.archive.scan())
    // If the base has changed, an own save has ended in the meantime, and it is newer than this scan.
    if (this.tracker.base === base) this.tracker.setBase(current)
    this.journal.dismiss(this.journal.news)
    this.store.dispatch({
      type: 'loaded',
      savedAt: this.store.state.savedAt,
      unsaved: this.tracker.isUnsaved,
    })
  }

  #onLeave(): void {
    this.journal.write()
    if (this.tracker.isUnsaved) void this.#save()
  }

  async close(): Promise<void> {
    this.#closed ??= this.#saveAndRelease()
    await this.#closed
  }

  async #saveAndRelease(): Promise<void> {
    this.#stopListening()
    this.journal.write()
    // The journal has the edits, so the end need not wait long for a lock that another tab holds.
    const cancel = this.#settings.clock.setTimer(this.#lock.stopWaiting, LAST_WAIT_MS)
    await this.saveNow()
    cancel()
    this.#cancelRetry?.()
    this.#lock.stopWaiting()
    await this.#releaseLock()
    this.#tabs.close()
    await this.#settings.ownLocks?.close()
    this.store.dispatch({ type: 'closed' })
  }
}
