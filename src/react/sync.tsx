import { createContext, type ReactNode, useCallback, useContext, useMemo, useSyncExternalStore } from 'react'
import { LeaseError } from '../base/errors.ts'
import type { Sync, SyncSettings, SyncState } from '../sync/index.ts'

const SyncContext = createContext<unknown>(undefined)

export interface SyncProviderProps<E extends object, S extends object> {
  readonly sync: Sync<E, S>
  readonly children?: ReactNode
}

/**
 * Gives the sync to the hooks of all components below it. It neither bootstraps nor closes the sync.
 *
 * @example
 * <SyncProvider sync={sync}><Checklist /></SyncProvider>
 */
export function SyncProvider<E extends object, S extends object>({
  sync,
  children,
}: SyncProviderProps<E, S>) {
  return <SyncContext.Provider value={sync}>{children}</SyncContext.Provider>
}

/** The sync itself, for writing. */
export function useSync<E extends object, S extends object = SyncSettings>(): Sync<E, S> {
  const sync = useContext(SyncContext)
  if (!sync)
    throw new LeaseError('invalid-argument', 'expected a <SyncProvider> above this component, got none')
  return sync as Sync<E, S>
}

/**
 * One entity. The component renders again only when this entity changes.
 *
 * @example
 * const item = useEntity<Item>(id)
 */
export function useEntity<E extends object>(id: string): E | undefined {
  const sync = useSync<E>()
  const subscribe = useCallback((listener: () => void) => sync.subscribe(listener, id), [sync, id])
  return useSnapshot(subscribe, () => sync.get(id))
}

/** All entities with their ids, in the order of the index. The component renders again when any of them changes. */
export function useEntities<E extends object>(): SyncState<E, SyncSettings>['entries'] {
  const sync = useSync<E>()
  return useSnapshot(sync.subscribe, () => sync.state.entries)
}

/**
 * The ids of all entities, for a list of components with `useEntity`. The component renders again only when ids are
 * added or removed.
 *
 * @example
 * useEntityIds().map((id) => <Row key={id} id={id} />)
 */
export function useEntityIds(): readonly string[] {
  const sync = useSync()
  const ids = useMemo(() => {
    let last: readonly string[] = []
    return () => {
      const { entries } = sync.state
      const same = entries.length === last.length && entries.every(([id], index) => id === last[index])
      if (!same) last = entries.map(([id]) => id)
      return last
    }
  }, [sync])
  return useSnapshot(sync.subscribe, ids)
}

/** The settings. The component renders again when they change. */
export function useSyncSettings<S extends object = SyncSettings>(): S {
  const sync = useSync<object, S>()
  return useSnapshot(sync.subscribe, () => sync.settings)
}

/** A server renders what the sync holds there. */
function useSnapshot<T>(subscribe: (listener: () => void) => () => void, snapshot: () => T): T {
  return useSyncExternalStore(subscribe, snapshot, snapshot)
}
