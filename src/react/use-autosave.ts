import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import {
  type AutoSave,
  type AutoSaveOptions,
  type AutoSaveSnapshot,
  createAutoSave,
  INITIAL_SNAPSHOT,
} from '../autosave/index.ts'

export interface UseAutoSaveOptions<T> extends Omit<AutoSaveOptions<T>, 'read'> {
  /** Replaces your state by a save: by the last one at the start, by every newer one that another tab makes. */
  readonly onRestore?: (value: T) => void
}

export interface UseAutoSave<T> {
  /** The state of AutoSave. */
  readonly snapshot: AutoSaveSnapshot
  /** `null` on a server, and until the component is mounted. */
  readonly autosave: AutoSave<T> | null
}

/**
 * Saves a value automatically whenever it changes, while the component is mounted. Only `locks` may change: of the
 * other options, those of the first render count.
 *
 * @example
 * const [story, setStory] = useState(emptyStory)
 * const { snapshot, autosave } = useAutoSave(story, { locks, onRestore: setStory })
 * return <AutoSaveIndicator autosave={autosave} />
 */
export function useAutoSave<T>(value: T, options: UseAutoSaveOptions<T>): UseAutoSave<T> {
  const { locks } = options
  const [current, setCurrent] = useState<{ readonly locks: object; readonly autosave: AutoSave<T> } | null>(
    null,
  )
  // The first render after a change still has the AutoSave of the former project.
  const autosave = current?.locks === locks ? current.autosave : null
  const latest = useRef({ value, options })
  latest.current = { value, options }
  /** The last value of each project: what is saved when a component has changed to another one. */
  const values = useRef(new WeakMap<object, T>())
  values.current.set(locks, value)
  const known = useRef<Known<T>>({ value, restored: null, edits: 0 })

  useEffect(() => {
    const { onRestore: _, ...rest } = latest.current.options
    const opened = createAutoSave<T>({ ...rest, locks, read: () => values.current.get(locks) as T })
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
    let restoring = restore(true).catch(() => {})
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
    setCurrent({ locks, autosave: opened })
    return () => {
      isMounted = false
      stop()
      setCurrent(null)
      void opened.close()
    }
  }, [locks])

  useEffect(() => {
    const before = known.current
    if (Object.is(before.value, value)) return
    const edited = isEdit(value, before)
    known.current = { value, restored: null, edits: before.edits + (edited ? 1 : 0) }
    if (edited) autosave?.changed()
  }, [value, autosave])

  return { snapshot: useAutoSaveState(autosave), autosave }
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

export function useAutoSaveState(autosave: AutoSave<unknown> | null): AutoSaveSnapshot {
  const subscribe = useCallback(
    (listener: () => void) => autosave?.subscribe(listener) ?? (() => {}),
    [autosave],
  )
  return useSyncExternalStore(
    subscribe,
    () => autosave?.state ?? INITIAL_SNAPSHOT,
    () => INITIAL_SNAPSHOT,
  )
}
