import { expectBoolean, expectOptions, expectWhole } from '../base/arguments.ts'
import type { ProjectLockLease } from '../project/index.ts'
import { delayAfter } from '../project/retry-policy.ts'
import { type Contents, createArchive } from './archive.ts'
import { EditTracker } from './edit-tracker.ts'
import { AutoSaveError, asLockFailure, asWriteError, orLoadError } from './errors.ts'
import { createPageJournal } from './journal.ts'
import { checkOptions } from './options.ts'
import { type Candidate, findRecoverable, listGenerations } from './recovery.ts'
import { timeOf } from './save-file.ts'
import { createSchedule, onPageLeft } from './schedule.ts'
import { canTakeOver, maySave } from './state.ts'
import { createStateStore } from './state-store.ts'
import { connectTabs } from './tab-channel.ts'
import type { AutoSave, AutoSaveOptions, AutoSavePhase, ReadOnlyReason, Recovery } from './types.ts'
import { writeSave } from './write-save.ts'
import { createWriterLock } from './writer-lock.ts'

/** How long `close` waits for the lock. */
const LAST_WAIT_MS = 1000

/**
 * Saves a project automatically, into files that survive a crash, and only while it holds the project lock.
 *
 * @example
 * const locks = createProjectLocks({ namespace: 'storyboard' })
 * const autosave = createAutoSave({ read: () => storyboard, locks })
 * const [latest] = await autosave.restore({ limit: 1 })
 * if (latest) storyboard = await latest.load()
 * editor.onChange(() => autosave.changed())
 */
export function createAutoSave<T>(options: AutoSaveOptions<T>): AutoSave<T> {
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
    onError: (cause) =>
      emitError(
        'journal',
        new AutoSaveError('journal-failed', 'the journal cannot be read or written', cause),
      ),
  })
  const lock = createWriterLock(settings, { onGranted, onRefused, onLost })
  const schedule = createSchedule(clock, settings, () => void save())
  const tabs = connectTabs(settings.channel || null, clock, { onSaved, onHandoffRequested })
  const stopListening = onPageLeft(onLeave)

  /** Failed saves in a row. */
  let failures = 0
  let cancelRetry: (() => void) | undefined
  /** The save under way. */
  let saving: Promise<void> | null = null
  let closed: Promise<void> | undefined
  /** What the directory contains. Known only as long as no other tab may write there. */
  let contents: Contents | null = null
  /** The id of the newest save that another tab has announced. */
  let announced = ''
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
    async flushNow(flushOptions = {}) {
      expectOptions(flushOptions, { overwrite: 1 })
      const { overwrite = false } = flushOptions
      expectBoolean('overwrite', overwrite)
      if (overwrite) await acceptCurrentAsBase()
      await saving
      if (tracker.isUnsaved) await save()
      return store.state
    },
    async restore(restoreOptions = {}) {
      expectOptions(restoreOptions, { limit: 1, journals: 1 })
      const { limit = Infinity, journals = true } = restoreOptions
      if (limit !== Infinity) expectWhole('limit', limit, 0)
      expectBoolean('journals', journals)
      await started
      const found = await orLoadError(findRecoverable<T>(archive, journals && journal, { limit, onLoad }))
      reportSkipped(found)
      return found
    },
    async takeOver() {
      if (!canTakeOver(store.state)) return store.state
      dispatch({ type: 'taking-over', isOn: true })
      await tabs.requestHandoff()
      try {
        if (!lock.isHeld && !closed) await lock.steal()
      } catch (error) {
        emitError('acquire', asLockFailure(error).error)
        lock.joinQueue()
      }
      dispatch({ type: 'taking-over', isOn: false })
      return store.state
    },
    history: () => orLoadError(listGenerations(archive)),
    close,
    dispose: close,
    [Symbol.asyncDispose]: close,
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
      return onRefused(error)
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
    const stale = tracker.isBehind(contents.current)
    dispatch({ type: 'granted', backend: lease.backend, stale, unsaved: tracker.isUnsaved })
    if (!stale || !tracker.isUnsaved) return true
    const error = new AutoSaveError('conflict', 'another tab saved after this state was loaded')
    enterReadOnly('conflict', error, false)
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

  function onRefused(cause: unknown): void {
    if (closed) return
    const { reason, error } = asLockFailure(cause)
    emitError('acquire', error)
    // A second refusal means that there is no queue to wait in.
    enterReadOnly(reason, error, reason === 'held' && store.state.phase !== 'read-only')
  }

  function onLost(cause: Error & { readonly retryable?: boolean }): void {
    contents = null
    if (cause?.retryable) {
      dispatch({ type: 'released' })
      void save()
    } else
      enterReadOnly('lost', new AutoSaveError('lock-unavailable', 'the project lock was lost', cause), true)
  }

  function onSaved(id: string): void {
    announced = id
    contents = null
    if (id > (tracker.base ?? '')) dispatch({ type: 'outdated' })
  }

  /** Another tab wants to edit. What cannot be saved now stays in this tab. */
  async function onHandoffRequested(): Promise<boolean> {
    if (!lock.isHeld || closed) return false
    await saving
    if (tracker.isUnsaved) await save()
    if (!lock.isHeld || closed) return false
    lock.handOver()
    contents = null
    const error = new AutoSaveError('lock-unavailable', 'another tab asked for the project lock')
    enterReadOnly('lost', error, true)
    return true
  }

  function enterReadOnly(reason: ReadOnlyReason, error: AutoSaveError, inLine: boolean): void {
    dispatch({ type: 'locked-out', reason, error, inLine })
    if (inLine) lock.joinQueue()
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
    dispatch({ type: 'loaded', savedAt: store.state.savedAt, unsaved: tracker.isUnsaved })
  }

  function reportSkipped(found: Recovery<T>): void {
    const best = found[0]?.id ?? ''
    const skipped = found.skipped.filter(({ id }) => id > best)
    dispatch({ type: 'searched', skipped })
    for (const { id, reason } of skipped)
      emitError('restore', new AutoSaveError('corrupt', `the save of ${id} is ${reason}, and was skipped`))
  }

  function onLoad({ source, save }: Candidate, current: string | null): void {
    if (closed) return
    tracker.onLoad(save, current, source === 'journal' ? save.ownChecksums : [])
    if (source === 'journal') journal.include(save.key)
    const savedAt = timeOf(tracker.base ?? '')
    dispatch({ type: 'loaded', savedAt, unsaved: tracker.isUnsaved })
    if (announced > (tracker.base ?? '')) dispatch({ type: 'outdated' })
    emit({ type: 'autosave:restored', source })
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
    await saving
    if (tracker.isUnsaved) await save()
    cancel()
    cancelRetry?.()
    lock.stopWaiting()
    await releaseLock()
    tabs.close()
    dispatch({ type: 'closed' })
  }
}
