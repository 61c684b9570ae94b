import { expectBoolean, expectOptions } from '../base/arguments.ts'
import { orLoadError } from './errors.ts'
import { type AutoSaveOptions, checkOptions, type FlushOptions } from './options.ts'
import { listGenerations } from './recovery.ts'
import { createRestore } from './restore.ts'
import { Saver } from './saver.ts'
import type { AutoSave, AutoSaveProject, AutoSaveState } from './types.ts'

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
  const saver = new Saver(checkOptions(options))
  const { store, archive, journal, tracker, started } = saver
  const close = () => saver.close()
  const takeover = () => saver.takeover()
  return {
    get state() {
      return store.state
    },
    snapshot: () => store.state,
    subscribe: store.subscribe,
    changed: () => saver.changed(),
    flush,
    flushNow: flush,
    restore: createRestore({ archive, journal, tracker, store, started, isClosed: () => saver.isClosed() }),
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
    if (overwrite) await saver.acceptCurrentAsBase()
    await saver.saveNow()
    return store.state
  }
}
