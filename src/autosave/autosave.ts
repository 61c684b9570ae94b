import { expectBoolean, expectOptions } from '../base/arguments.ts'
import type { ProjectLockLease } from '../project/index.ts'
import { delayAfter } from '../project/retry-policy.ts'
import { type Contents, createArchive } from './archive.ts'
import { EditTracker } from './edit-tracker.ts'
import { AutoSaveError, asLockFailure, asWriteError, orLoadError } from './errors.ts'
import { createPageJournal } from './journal.ts'
import { checkOptions } from './options.ts'
import { createReadOnly } from './read-only.ts'
import { listGenerations } from './recovery.ts'
import { createRestore } from './restore.ts'
import { timeOf } from './save-file.ts'
import { createSchedule, onPageLeft } from './schedule.ts'
import { canTakeover, maySave } from './state.ts'
import { createStateStore } from './state-store.ts'
import { connectTabs } from './tab-channel.ts'
import type {
  AutoSave,
  AutoSaveOptions,
  AutoSavePhase,
  AutoSaveProject,
  AutoSaveState,
  FlushOptions,
} from './types.ts'
import { writeSave } from './write-save.ts'
import { createWriterLock } from './writer-lock.ts'

/** How long `close` waits for the lock. */
const LAST_WAIT_MS = 1000

/**
 * Saves a project automatically, into files that survive a crash, and only while it holds the project lock. Throws
 * `invalid-argument`. What fails later is in `state.error` and in events, with the codes of `AutoSaveError`.
 *
 * @example
 * const autosave = createAutoSave({ read: () => storyboard, namespace: 'storyboard' })
 * const [latest] = await autosave.restore({ limit: 1 })
 * if (latest) storyboard = await latest.load()
 * editor.onChange(() => autosave.changed())
 */
export function createAutoSave<T>(options: AutoSaveOptions<T> & AutoSaveProject): AutoSave<T> {
  const settings = checkOptions(options)
  const { read, clock, hold } = settings
  const store = createStateStore(clock, onPhaseChange)
  const { dispatch, emit, emitError } = store
  if (settings.onEvent) store.subscribe(settings.onEvent)
  const archive = createArchive(settings.open)
  const tracker = new EditTracker()
  const journal = createPageJournal({
    ...settings,
    tracker,
    onWritten: (bytes) => emit({ type: 'autosave:journaled', bytes }),
    onError: (error) => emitError('journal', error),
  })
  const readOnly = createReadOnly({
    store,
    isClosed,
    joinQueue: () => lock.joinQueue(),
    forgetContents: () => {
      contents = null
    },
    saveAgain: () => void save(),
  })
  const lock = createWriterLock(settings, { onGranted, ...readOnly })
  const schedule = createSchedule(clock, settings, () => void save())
  const tabs = connectTabs({ ...settings, ...readOnly, lock, saveNow, onSaved })
  const stopListening = onPageLeft(onLeave)

  /** Failed saves in a row. */
  let failures = 0
  let cancelRetry: (() => void) | undefined
  /** The save under way. */
  let saving: Promise<void> | null = null
  let closed: Promise<void> | undefined
  /** What the directory contains. Known only as long as no other tab may write there. */
  let contents: Contents | null = null
  /** The lease under which the journals of other tabs were searched. */
  let searched: string | undefined
  const started = archive.scan().then(
    ({ current }) => tracker.setBase(current),
    () => {},
  )
  if (settings.eager && hold === 'session') void save()

  return {
    get state() {
      return store.state
    },
    snapshot: () => store.state,
    subscribe: store.subscribe,
    changed,
    flush,
    flushNow: flush,
    restore: createRestore({ archive, journal, tracker, store, started, isClosed }),
    takeover,
    takeOver: takeover,
    history: () => orLoadError(listGenerations(archive)),
    close,
    dispose: close,
    [Symbol.asyncDispose]: close,
  }

  async function flush(flushOptions: FlushOptions = {}): Promise<AutoSaveState> {
    expectOptions(flushOptions, { overwrite: 1 })
    const { overwrite = false } = flushOptions
    expectBoolean('overwrite', overwrite)
    if (overwrite) await acceptCurrentAsBase()
    await saveNow()
    return store.state
  }

  async function takeover(): Promise<AutoSaveState> {
    if (!canTakeover(store.state)) return store.state
    dispatch({ type: 'taking-over', isOn: true })
    try {
      await tabs.takeover()
    } catch (error) {
      if (!closed) emitError('acquire', asLockFailure(error).error)
      lock.joinQueue()
    }
    dispatch({ type: 'taking-over', isOn: false })
    return store.state
  }

  function isClosed(): boolean {
    return closed !== undefined
  }

  function changed(): void {
    if (closed) return
    tracker.onEdit()
    dispatch({ type: 'edited' })
    if (store.state.phase !== 'debouncing') return
    schedule.edit()
    // An edit requests the lock. If it is refused, the save reports that.
    if (hold === 'session') lock.acquire().catch(() => {})
  }

  function onPhaseChange(phase: AutoSavePhase, before: AutoSavePhase): void {
    if (phase === 'debouncing') schedule.edit()
    if (before === 'debouncing') schedule.cancel()
  }

  async function saveNow(): Promise<void> {
    await saving
    if (tracker.isUnsaved) await save()
  }

  function save(): Promise<void> {
    if (!maySave(store.state)) return saving ?? Promise.resolve()
    // The save under way has lost its lock. It must end before the next one begins.
    if (saving) return saving.then(save)
    cancelRetry?.()
    dispatch({ type: 'due' })
    saving = acquireAndSave().finally(() => {
      saving = null
    })
    return saving
  }

  async function acquireAndSave(): Promise<void> {
    let lease: ProjectLockLease
    try {
      lease = await lock.acquire()
    } catch (error) {
      return readOnly.onRefused(error)
    }
    try {
      await saveUnlessConflict(lease)
    } catch (error) {
      onFailed(asWriteError(error))
    }
    if (hold === 'save') await releaseLock()
  }

  async function saveUnlessConflict(lease: ProjectLockLease): Promise<void> {
    while (await checkConflict(lease)) {
      try {
        return await saveWith(lease)
      } catch (error) {
        if (asWriteError(error).code !== 'conflict') throw error
        // Another tab saved, although this one holds the lock. What it saved decides.
        contents = null
      }
    }
  }

  /** Reads what other tabs may have saved while this tab did not have the lock. False: that is a conflict. */
  async function checkConflict(lease: ProjectLockLease): Promise<boolean> {
    await started
    contents ??= await archive.scan()
    if (!lock.mayWrite(lease)) throw new AutoSaveError('lock-unavailable', 'the lock is not held now')
    // Whoever had the lock before may have left edits that it could not save.
    if (lease.id !== searched) journal.searchNews(contents.current)
    searched = lease.id
    const stale = tracker.isBehind(contents.current) || journal.news.length > 0
    dispatch({ type: 'granted', backend: lease.backend, stale, unsaved: tracker.isUnsaved })
    if (!stale || !tracker.isUnsaved) return true
    readOnly.onConflict()
    return false
  }

  async function saveWith(lease: ProjectLockLease): Promise<void> {
    const { backend } = lease
    const begun = clock.monotonic()
    const included = tracker.edits
    const before = contents
    if (!before || !tracker.isUnsaved) return onFinished()
    dispatch({ type: 'writing' })
    const written = await writeSave(
      {
        archive,
        clock,
        limits: settings,
        read,
        onSerialized: ({ checksum }) => tracker.onSaving(checksum),
        holdsLock: () => lock.mayWrite(lease),
        onWritten: () => dispatch({ type: 'written' }),
        onSpaceFreed: (removed) => emit({ type: 'autosave:collected', removed }),
      },
      before,
    )
    tracker.onSaved(included)
    failures = 0
    if (!tracker.isUnsaved) journal.clear()
    if (!written) return onFinished()
    const { id, bytes } = written.save
    tracker.setBase(written.save)
    if (contents) contents = written.contents
    tabs.announce(id)
    dispatch({ type: 'committed', at: timeOf(id) ?? clock.now(), by: backend, unsaved: tracker.isUnsaved })
    emit({ type: 'autosave:saved', bytes, tookMs: clock.monotonic() - begun, backend })
    try {
      const removed = await written.collect()
      if (removed > 0) emit({ type: 'autosave:collected', removed })
    } catch (error) {
      // The save is complete. The next one removes what is left.
      emitError('collect', asWriteError(error))
      contents = null
    }
    onFinished()
  }

  function onFinished(): void {
    dispatch({ type: 'finished', unsaved: tracker.isUnsaved })
  }

  function onFailed(error: AutoSaveError): void {
    emitError('write', error)
    contents = null
    const delayMs = error.retryable ? delayAfter(++failures) : null
    dispatch({ type: 'failed', error, retryAt: delayMs === null ? null : clock.now() + delayMs })
    if (store.state.phase !== 'backoff' || delayMs === null) {
      failures = 0
      return
    }
    emit({ type: 'autosave:retry', attempt: failures, delayMs })
    cancelRetry = clock.setTimer(() => void save(), delayMs)
  }

  async function onGranted(lease: ProjectLockLease): Promise<void> {
    try {
      await checkConflict(lease)
    } catch {
      if (!lock.isCurrent(lease)) return lock.joinQueue()
      // The directory cannot be read now. The next save reads it again.
      dispatch({ type: 'granted', backend: lease.backend, stale: false, unsaved: tracker.isUnsaved })
    }
    if (hold === 'save' && store.state.phase !== 'debouncing') await releaseLock()
  }

  function onSaved(id: string): void {
    tracker.announced = id
    contents = null
    if (tracker.isOutdated) dispatch({ type: 'outdated' })
  }

  async function releaseLock(): Promise<void> {
    contents = null
    await lock.release().catch(() => {})
    dispatch({ type: 'released' })
  }

  async function acceptCurrentAsBase(): Promise<void> {
    const { base } = tracker
    const { current } = await orLoadError(archive.scan())
    // If the base has changed, an own save has ended in the meantime, and it is newer than this scan.
    if (tracker.base === base) tracker.setBase(current)
    journal.settle(journal.news)
    dispatch({ type: 'loaded', savedAt: store.state.savedAt, unsaved: tracker.isUnsaved })
  }

  function onLeave(): void {
    journal.write()
    if (tracker.isUnsaved) void save()
  }

  async function close(): Promise<void> {
    closed ??= saveAndRelease()
    await closed
  }

  async function saveAndRelease(): Promise<void> {
    stopListening()
    journal.write()
    // The journal has the edits, so the end need not wait long for a lock that another tab holds.
    const cancel = clock.setTimer(lock.stopWaiting, LAST_WAIT_MS)
    await saveNow()
    cancel()
    cancelRetry?.()
    lock.stopWaiting()
    await releaseLock()
    tabs.close()
    await settings.ownLocks?.close()
    dispatch({ type: 'closed' })
  }
}
