import type { ProjectLockLease } from '../project/index.ts'
import { type Contents, createArchive } from './archive.ts'
import { compose } from './compose.ts'
import { AutoSaveError, asWriteError, whyRefused } from './errors.ts'
import { createEvents } from './events.ts'
import { createJournalKeeper, forgivingJournal } from './journal.ts'
import { Lineage } from './lineage.ts'
import { settle } from './options.ts'
import { onLeaving } from './page.ts'
import { type Found, findRecoverable } from './recovery.ts'
import { timeOf } from './save-file.ts'
import { createSchedule } from './schedule.ts'
import { type Action, INITIAL_SNAPSHOT, maySave, reduce } from './state.ts'
import { createTenure } from './tenure.ts'
import type { AutoSave, AutoSaveOperation, AutoSaveOptions, ReadOnlyReason } from './types.ts'
import { writeSave } from './write-save.ts'

/** After the last of these a failing save is an error, until the next edit or `flushNow`. */
const RETRY_DELAYS_MS = [500, 1000, 2000, 4000]
/** How long `dispose` waits for the lock. */
const LAST_WAIT_MS = 1000

/**
 * Saves a project by itself, into files that survive a crash, and only while it holds the project lock.
 *
 * @example
 * const locks = createProjectLocks({ namespace: 'storyboard' })
 * const autosave = createAutoSave({ read: () => storyboard, locks })
 * const [latest] = await autosave.restore({ limit: 1 })
 * if (latest) storyboard = await latest.load()
 * editor.onChange(() => autosave.changed())
 */
export function createAutoSave<T>(options: AutoSaveOptions<T>): AutoSave<T> {
  const { read, open, clock, hold, eager, onEvent, ...settings } = settle(options)
  const events = createEvents(() => clock.now())
  if (onEvent) events.subscribe(onEvent)
  const archive = createArchive(open)
  const journal = settings.journal && forgivingJournal(settings.journal, onJournalFailed)
  const keeper = journal && createJournalKeeper(journal)
  const tenure = createTenure(settings, clock, { granted: onGranted, refused: onRefused, lost: onLost })
  const schedule = createSchedule(clock, settings, () => void save())
  const stopListening = onLeaving(onLeave)

  let state = INITIAL_SNAPSHOT
  let failures = 0
  let cancelRetry: (() => void) | undefined
  /** The save under way. */
  let saving: Promise<void> | null = null
  let disposed: Promise<void> | undefined
  /** What the directory holds; known only as long as nobody else may write there. */
  let contents: Contents | null = null
  const lineage = new Lineage()
  const started = archive.look().then(
    ({ current }) => lineage.follow(current),
    () => {},
  )
  if (eager && hold === 'session') void save()

  return {
    changed,
    snapshot: () => state,
    subscribe: events.subscribe,
    async flushNow({ overwrite = false } = {}) {
      if (overwrite) await makeTheirsOurBase()
      await saving
      if (lineage.isUnsaved) await save()
      return state
    },
    restore: async ({ limit = Infinity } = {}) => {
      await started
      return findRecoverable<T>(archive, journal, { limit, onLoad })
    },
    async history() {
      const { current, entries } = await archive.look()
      return entries.map(({ id, bytes }) => ({
        ...{ id, bytes, savedAt: timeOf(id) ?? 0 },
        current: id === current?.id,
      }))
    },
    dispose,
    [Symbol.asyncDispose]: dispose,
  }

  function changed(): void {
    if (disposed) return
    lineage.edit()
    dispatch({ type: 'edited' })
    if (state.phase !== 'debouncing') return
    schedule.edit()
    // Whoever edits wants the lock; a refusal is the business of the save.
    if (hold === 'session') tenure.obtain().catch(() => {})
  }

  function dispatch(action: Action): void {
    const before = state
    state = reduce(state, action)
    if (state === before) return
    const { phase, unsaved, readOnly } = state
    if (before.phase === 'debouncing') {
      if (phase !== 'debouncing') schedule.cancel()
    } else if (phase === 'debouncing') schedule.edit()
    events.emit({ type: 'autosave:state', from: before.phase, phase, unsaved })
    if (readOnly && readOnly !== before.readOnly)
      events.emit({ type: 'autosave:readonly-entered', reason: readOnly })
    if (before.readOnly && !readOnly) events.emit({ type: 'autosave:readonly-left' })
  }

  function save(): Promise<void> {
    if (!maySave(state)) return saving ?? Promise.resolve()
    // It has lost the lock, and must not end in the midst of the next one.
    if (saving) return saving.then(save)
    cancelRetry?.()
    dispatch({ type: 'due' })
    saving = takeLockAndSave().finally(() => {
      saving = null
    })
    return saving
  }

  async function takeLockAndSave(): Promise<void> {
    let lease: ProjectLockLease
    try {
      lease = await tenure.obtain()
    } catch (error) {
      return onRefused(error)
    }
    try {
      if (await settleIn(lease)) await saveAs(lease)
    } catch (error) {
      onFailed(asWriteError(error))
    }
    if (hold === 'save') await letGo()
  }

  /** Looks at what another may have left while the lock was not ours. False when it stands in our way. */
  async function settleIn(lease: ProjectLockLease): Promise<boolean> {
    await started
    contents ??= await archive.look()
    if (!tenure.holds(lease)) throw new AutoSaveError('lock-unavailable', 'the lock is not ours now')
    const stale = lineage.isBehind(contents.current)
    dispatch({ type: 'granted', backend: lease.backend, stale, unsaved: lineage.isUnsaved })
    if (stale && lineage.isUnsaved) {
      const error = new AutoSaveError('conflict', 'another saved since this state was loaded')
      lockOut('conflict', error, false)
      return false
    }
    return true
  }

  async function saveAs(lease: ProjectLockLease): Promise<void> {
    const begun = clock.monotonic()
    const included = lineage.edits
    const before = contents
    if (!before || !lineage.isUnsaved) return dispatch({ type: 'finished', unsaved: lineage.isUnsaved })
    dispatch({ type: 'writing' })
    const written = await writeSave(
      {
        ...{ archive, clock, read, limits: settings },
        onComposed: ({ checksum }) => lineage.write(checksum),
        holdsLock: () => tenure.holds(lease),
        onWritten: () => dispatch({ type: 'written' }),
        onRoomMade: (removed) => events.emit({ type: 'autosave:collected', removed }),
      },
      before,
    )
    lineage.save(included)
    failures = 0
    if (keeper && !lineage.isUnsaved) keeper.clear()
    if (!written) return dispatch({ type: 'finished', unsaved: lineage.isUnsaved })
    const { id, bytes } = written.save
    lineage.follow(written.save)
    if (contents) contents = written.contents
    const { backend } = lease
    dispatch({ type: 'committed', at: timeOf(id) ?? clock.now(), by: backend, unsaved: lineage.isUnsaved })
    const tookMs = clock.monotonic() - begun
    events.emit({ type: 'autosave:saved', bytes, tookMs, backend })
    try {
      const removed = await written.collect()
      if (removed > 0) events.emit({ type: 'autosave:collected', removed })
    } catch (error) {
      // The save stands; what is left over goes with the next one.
      tellError('collect', asWriteError(error))
      contents = null
    }
    dispatch({ type: 'finished', unsaved: lineage.isUnsaved })
  }

  function onFailed(error: AutoSaveError): void {
    tellError('write', error)
    contents = null
    const delayMs = error.retryable ? RETRY_DELAYS_MS[failures++] : undefined
    dispatch({ type: 'failed', error, retryAt: delayMs === undefined ? null : clock.now() + delayMs })
    if (state.phase !== 'backoff' || delayMs === undefined) {
      failures = 0
      return
    }
    events.emit({ type: 'autosave:retry', attempt: failures, delayMs })
    cancelRetry = clock.setTimer(() => void save(), delayMs)
  }

  async function onGranted(lease: ProjectLockLease): Promise<void> {
    try {
      await settleIn(lease)
    } catch {
      if (!tenure.keeps(lease)) return tenure.standBy()
      // What cannot be looked at now will be before the next save.
      dispatch({ type: 'granted', backend: lease.backend, stale: false, unsaved: lineage.isUnsaved })
    }
    if (hold === 'save' && state.phase !== 'debouncing') await letGo()
  }

  function onRefused(cause: unknown): void {
    if (disposed) return
    const { reason, error } = whyRefused(cause)
    tellError('acquire', error)
    // A second refusal means that there is no line to stand in.
    lockOut(reason, error, reason === 'held' && state.phase !== 'read-only')
  }

  function onLost(cause: Error & { readonly retryable?: boolean }): void {
    contents = null
    if (cause?.retryable) {
      dispatch({ type: 'released' })
      void save()
    } else lockOut('lost', new AutoSaveError('lock-unavailable', 'the project lock was lost', cause), true)
  }

  function lockOut(reason: ReadOnlyReason, error: AutoSaveError, inLine: boolean): void {
    dispatch({ type: 'locked-out', reason, error, inLine })
    if (inLine) tenure.standBy()
  }

  async function letGo(): Promise<void> {
    contents = null
    await tenure.release().catch(() => {})
    dispatch({ type: 'released' })
  }

  async function makeTheirsOurBase(): Promise<void> {
    const { base } = lineage
    const { current } = await archive.look()
    // A save of ours that has ended meanwhile is later than what was seen.
    if (lineage.base === base) lineage.follow(current)
    dispatch({ type: 'loaded', savedAt: state.savedAt, unsaved: lineage.isUnsaved })
  }

  function onLoad({ source, entry }: Found, listed: string | null): void {
    if (disposed) return
    lineage.load(entry, listed, source === 'journal' ? entry.ours : [])
    if (keeper && source === 'journal') keeper.cover(entry.key)
    const savedAt = timeOf(lineage.base ?? '')
    dispatch({ type: 'loaded', savedAt, unsaved: lineage.isUnsaved })
    events.emit({ type: 'autosave:restored', source })
  }

  function onLeave(): void {
    keepInJournal()
    if (lineage.isUnsaved) void save()
  }

  function keepInJournal(): void {
    if (!keeper || !lineage.isUnsaved) return
    try {
      const content = compose(read)
      keeper.keep({ id: new Date(clock.now()).toISOString(), ...content }, lineage)
      events.emit({ type: 'autosave:journaled', bytes: content.bytes })
    } catch (error) {
      onJournalFailed(error)
    }
  }

  function onJournalFailed(cause: unknown): void {
    tellError('journal', new AutoSaveError('journal-failed', 'the journal cannot be read or written', cause))
  }

  function tellError(operation: AutoSaveOperation, error: AutoSaveError): void {
    const { code, retryable } = error
    events.emit({ type: 'autosave:error', operation, code, retryable, error })
  }

  async function dispose(): Promise<void> {
    disposed ??= stop()
    await disposed
  }

  async function stop(): Promise<void> {
    stopListening()
    keepInJournal()
    // The journal has it, so another who holds the lock cannot hold up the end.
    const cancel = clock.setTimer(tenure.stopWaiting, LAST_WAIT_MS)
    await saving
    if (lineage.isUnsaved) await save()
    cancel()
    cancelRetry?.()
    tenure.stopWaiting()
    await letGo()
    dispatch({ type: 'disposed' })
  }
}
