import { expectBoolean, expectOptions, expectWhole } from '../base/arguments.ts'
import type { Archive } from './archive.ts'
import type { EditTracker } from './edit-tracker.ts'
import { AutoSaveError, orLoadError } from './errors.ts'
import type { PageJournal } from './journal.ts'
import { type Candidate, findRecoverable } from './recovery.ts'
import { timeOf } from './save-file.ts'
import type { StateStore } from './state-store.ts'
import type { AutoSave, Recovery } from './types.ts'

export interface RestoreOptions {
  readonly archive: Archive
  readonly journal: PageJournal
  readonly tracker: EditTracker
  readonly store: StateStore
  /** Resolves when the directory was read for the first time. */
  readonly started: Promise<void>
  readonly isClosed: () => boolean
}

/** Finds the saves that can be loaded. Loading one makes it the base of the next save. */
export function createRestore<T>(options: RestoreOptions): AutoSave<T>['restore'] {
  const { archive, journal, tracker, store, started, isClosed } = options
  const { dispatch, emit, emitError } = store

  return async (restoreOptions = {}) => {
    expectOptions(restoreOptions, { limit: 1, journals: 1 })
    const { limit = Infinity, journals = true } = restoreOptions
    if (limit !== Infinity) expectWhole('limit', limit, 0)
    expectBoolean('journals', journals)
    await started
    const { news } = journal
    const found = await orLoadError(
      findRecoverable<T>(archive, journals && journal, {
        limit,
        onLoad(loaded, current) {
          if (isClosed()) return
          if (journals) journal.dismiss(news)
          onLoad(loaded, current)
          const isNew = (version: string) => !news.includes(version)
          if (tracker.isOutdated || journal.news.some(isNew)) dispatch({ type: 'outdated' })
        },
      }),
    )
    reportSkipped(found)
    return found
  }

  function reportSkipped(found: Recovery<T>): void {
    const best = found[0]?.id ?? ''
    const skipped = found.skipped.filter(({ id }) => id > best)
    dispatch({ type: 'searched', skipped })
    for (const { id, reason } of skipped)
      emitError('restore', new AutoSaveError('corrupt', `the save of ${id} is ${reason}, and was skipped`))
  }

  function onLoad({ source, save }: Candidate, current: string | null): void {
    tracker.onLoad(save, current, source === 'journal' ? save.ownChecksums : [])
    if (source === 'journal') journal.include(save)
    const savedAt = timeOf(tracker.base ?? '')
    dispatch({ type: 'loaded', savedAt, unsaved: tracker.isUnsaved })
    emit({ type: 'autosave:restored', source })
  }
}
