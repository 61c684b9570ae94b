import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import {
  type AutoSave,
  type AutoSaveOptions,
  type AutoSaveSnapshot,
  createAutoSave,
  INITIAL_SNAPSHOT,
} from '../autosave/index.ts'

export interface UseAutoSaveOptions<T> extends Omit<AutoSaveOptions<T>, 'read'> {
  /** Puts a save into your state: the last one at the start, and a newer one when this tab takes over. */
  readonly onRestore?: (value: T) => void
}

export interface UseAutoSave<T> {
  readonly snapshot: AutoSaveSnapshot
  /** `null` until the component is mounted, and on a server. */
  readonly autosave: AutoSave<T> | null
}

/**
 * Saves a value by itself whenever it is another one, while the component is mounted. Only `locks` may change:
 * the other options are those of the first render.
 *
 * @example
 * const [story, setStory] = useState(emptyStory)
 * const { snapshot, autosave } = useAutoSave(story, { locks, onRestore: setStory })
 * return <AutoSaveIndicator autosave={autosave} />
 */
export function useAutoSave<T>(value: T, options: UseAutoSaveOptions<T>): UseAutoSave<T> {
  const [autosave, setAutosave] = useState<AutoSave<T> | null>(null)
  const latest = useRef({ value, options })
  latest.current = { value, options }
  const { locks } = options
  /** The last value that is no edit of the user's. */
  const known = useRef<{ value: T; restored: string | null }>({ value, restored: null })

  useEffect(() => {
    const { onRestore: _, ...rest } = latest.current.options
    const opened = createAutoSave<T>({ ...rest, locks, read: () => latest.current.value })
    let isMounted = true
    const restore = async () => {
      const { onRestore } = latest.current.options
      const [best] = onRestore ? await opened.restore({ limit: 1 }) : []
      // What the user types meanwhile is worth more.
      if (!best || !isMounted || opened.state.unsaved) return
      const before = latest.current.value
      const restored = await best.load()
      if (!isMounted) return
      if (!Object.is(before, latest.current.value)) return opened.changed()
      known.current = { ...known.current, restored: JSON.stringify(restored) }
      onRestore?.(restored)
    }
    let wasStale = false
    const stop = opened.subscribe(() => {
      const { stale, unsaved } = opened.state
      if (stale && !wasStale && !unsaved) restore().catch(() => {})
      wasStale = stale
    })
    // A directory that cannot be read says so with the first save.
    restore().catch(() => {})
    setAutosave(opened)
    return () => {
      isMounted = false
      stop()
      setAutosave(null)
      void opened.close()
    }
  }, [locks])

  useEffect(() => {
    const { value: before, restored } = known.current
    if (Object.is(before, value)) return
    known.current = { value, restored: null }
    if (restored === null || restored !== JSON.stringify(value)) autosave?.changed()
  }, [value, autosave])

  return { snapshot: useAutoSaveSnapshot(autosave), autosave }
}

export function useAutoSaveSnapshot(autosave: AutoSave<unknown> | null): AutoSaveSnapshot {
  const subscribe = useCallback(
    (listener: () => void) => autosave?.subscribe(listener) ?? (() => {}),
    [autosave],
  )
  return useSyncExternalStore(
    subscribe,
    () => autosave?.snapshot() ?? INITIAL_SNAPSHOT,
    () => INITIAL_SNAPSHOT,
  )
}
