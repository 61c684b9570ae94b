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
  const [autosave, setAutosave] = useState<AutoSave<T> | null>(null)
  const latest = useRef({ value, options })
  latest.current = { value, options }
  const { locks } = options
  /** The last value that is not an edit of the user. */
  const known = useRef<{ value: T; restored: string | null }>({ value, restored: null })

  useEffect(() => {
    const { onRestore: _, ...rest } = latest.current.options
    const opened = createAutoSave<T>({ ...rest, locks, read: () => latest.current.value })
    let isMounted = true
    const restore = async (journals: boolean) => {
      const { onRestore } = latest.current.options
      const [best] = onRestore ? await opened.restore({ limit: 1, journals }) : []
      // What the user has typed in the meantime is kept.
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
      // Another tab saved. Its journal is not for us.
      if (stale && !wasStale && !unsaved) restore(false).catch(() => {})
      wasStale = stale
    })
    // If the directory cannot be read, the first save reports it.
    restore(true).catch(() => {})
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

  return { snapshot: useAutoSaveState(autosave), autosave }
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
