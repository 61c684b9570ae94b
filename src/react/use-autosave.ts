import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import {
  type AutoSave,
  type AutoSaveOptions,
  type AutoSaveProject,
  type AutoSaveState,
  createAutoSave,
  INITIAL_AUTOSAVE_STATE,
} from '../autosave/index.ts'
import { sharedLocks } from './shared-locks.ts'

export interface UseAutoSaveOptions<T> extends Omit<AutoSaveOptions<T>, 'read'> {
  /** Replaces your state by a save: by the last one at the start, by every newer one that another tab makes. */
  readonly onRestore?: ((value: T) => void) | undefined
}

export interface UseAutoSave<T> {
  /** The state of AutoSave. The component renders again when it changes. */
  readonly state: AutoSaveState
  /** @deprecated Use `state`. */
  readonly snapshot: AutoSaveState
  /**
   * Whether the user may edit: no other tab has the lock, the last save is restored, and no other tab has left a newer
   * version that is not loaded. With `eager`, this tab must have the lock. Otherwise edits might not be saved.
   */
  readonly isWritable: boolean
  /** `null` on a server, and until the component is mounted. */
  readonly autosave: AutoSave<T> | null
}

/**
 * Saves a value automatically whenever it changes, while the component is mounted. Only `namespace` and `locks` may
 * change: of the other options, those of the first render count. Throws `invalid-argument` for options that it does not
 * know.
 *
 * @example
 * const [story, setStory] = useState(emptyStory)
 * const { state, autosave } = useAutoSave(story, { namespace: 'storyboard', onRestore: setStory })
 * return <AutoSaveIndicator autosave={autosave} />
 */
export function useAutoSave<T>(value: T, options: UseAutoSaveOptions<T> & AutoSaveProject): UseAutoSave<T> {
  const { locks, namespace } = options
  /** Identifies the project. */
  // biome-ignore lint/correctness/useExhaustiveDependencies: another project is another object
  const project = useMemo(() => ({}), [locks, namespace])
  const [current, setCurrent] = useState<{ readonly project: object; readonly autosave: AutoSave<T> } | null>(
    null,
  )
  // The first render after a change still has the AutoSave of the former project.
  const autosave = current?.project === project ? current.autosave : null
  const [restoredProject, setRestoredProject] = useState<object | null>(null)
  const latest = useRef({ value, options })
  latest.current = { value, options }
  /** The last value of each project: what is saved when a component has changed to another one. */
  const values = useRef(new WeakMap<object, T>())
  values.current.set(project, value)
  const known = useRef<Known<T>>({ value, restored: null, edits: 0 })

  useEffect(() => {
    const read = () => values.current.get(project) as T
    const opened = createAutoSave<T>({ ...optionsOf(latest.current.options), read })
    let isMounted = true
    const restore = async (journals: boolean) => {
      const { onRestore } = latest.current.options
      const [best] = onRestore ? await opened.restore({ limit: 1, journals }) : []
      // What the user has typed in the meantime is kept.
      if (!best || !isMounted || opened.state.unsaved) return
      const { edits } = known.current
      const restored = await best.load()
      if (!isMounted) return
      if (known.current.edits !== edits || isEdit(latest.current.value, known.current))
        return opened.changed()
      known.current = { ...known.current, restored: JSON.stringify(restored) }
      onRestore?.(restored)
    }
    // One after the other, so that an older state never replaces a newer one.
    // If the directory cannot be read, the first save reports it.
    let restoring = restore(true)
      .catch(() => {})
      .then(() => setRestoredProject(project))
    const restoreNewer = async () => {
      // While another tab may write, its journal is not for us.
      if (opened.state.stale) await restore(opened.state.backend !== null)
    }
    let before = opened.state
    const stop = opened.subscribe(() => {
      const { stale, unsaved, backend } = opened.state
      const isNews = !before.stale || (backend !== null && before.backend === null)
      if (stale && isNews && !unsaved) restoring = restoring.then(restoreNewer).catch(() => {})
      before = opened.state
    })
    setCurrent({ project, autosave: opened })
    return () => {
      isMounted = false
      stop()
      setCurrent(null)
      void opened.close()
    }
  }, [project])

  useEffect(() => {
    const before = known.current
    if (Object.is(before.value, value)) return
    const edited = isEdit(value, before)
    known.current = { value, restored: null, edits: before.edits + (edited ? 1 : 0) }
    if (edited) autosave?.changed()
  }, [value, autosave])

  const state = useAutoSaveState(autosave)
  // Without `eager`, the first edit asks for the lock.
  const mayLock = state.phase !== 'read-only' && (state.backend !== null || !options.eager)
  const isWritable = restoredProject === project && mayLock && !state.stale
  return { state, snapshot: state, isWritable, autosave }
}

/** A lock file, for browsers without Web Locks, is in the directory of the saves: then the locks are not shared. */
function optionsOf<T>({ onRestore: _, ...options }: UseAutoSaveOptions<T> & AutoSaveProject) {
  const { namespace, directory, ...rest } = options
  const isShared = namespace !== undefined && options.locks === undefined && directory === undefined
  return isShared ? { ...rest, locks: sharedLocks(namespace) } : options
}

interface Known<T> {
  /** The last value that was rendered. */
  readonly value: T
  /** The text of a restored value that is yet to be rendered. */
  readonly restored: string | null
  /** How many values were edits of the user. */
  readonly edits: number
}

function isEdit<T>(now: T, { value, restored }: Known<T>): boolean {
  return !Object.is(now, value) && (restored === null || restored !== JSON.stringify(now))
}

export function useAutoSaveState(autosave: AutoSave<unknown> | null): AutoSaveState {
  const subscribe = useCallback(
    (listener: () => void) => autosave?.subscribe(listener) ?? (() => {}),
    [autosave],
  )
  return useSyncExternalStore(
    subscribe,
    () => autosave?.state ?? INITIAL_AUTOSAVE_STATE,
    () => INITIAL_AUTOSAVE_STATE,
  )
}
