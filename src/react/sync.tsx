import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useSyncExternalStore,
} from 'react'
import { LeaseError } from '../base/errors.ts'
import type { Sync, SyncSettings, SyncState, SyncStatus } from '../sync/index.ts'

const SyncContext = createContext<unknown>(undefined)

export interface SyncProviderProps<E extends object, S extends object> {
  readonly sync: Sync<E, S>
  readonly children?: ReactNode
}

/**
 * Gives the sync to the hooks of all components below it. The first hook that shows data bootstraps it. It does not
 * close it.
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

/**
 * The sync itself, for writing.
 *
 * @example
 * const sync = useSync<Item>()
 * return <button onClick={() => sync.removeEntity(id)}>Remove</button>
 */
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
  const sync = useLoadedSync<E>()
  const subscribe = useCallback((listener: () => void) => sync.subscribe(listener, id), [sync, id])
  return useSnapshot(subscribe, () => sync.get(id))
}

/**
 * All entities with their ids, in the order of the index. The component renders again when any of them changes.
 *
 * @example
 * const items = useEntities<Item>()
 * return items.map(([id, item]) => <li key={id}>{item.label}</li>)
 */
export function useEntities<E extends object>(): SyncState<E, SyncSettings>['entries'] {
  const sync = useLoadedSync<E>()
  useSnapshot(sync.subscribe, () => versionsOf(sync).entities)
  return sync.state.entries
}

/**
 * The ids of all entities, for a list of components with `useEntity`. The component renders again only when ids are
 * added or removed.
 *
 * @example
 * useEntityIds().map((id) => <Row key={id} id={id} />)
 */
export function useEntityIds(): readonly string[] {
  const sync = useLoadedSync()
  const version = useSnapshot(sync.subscribe, () => versionsOf(sync).ids)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the ids are new when their version is
  return useMemo(() => sync.state.entries.map(([id]) => id), [sync, version])
}

interface Versions {
  /** Changes with every entity that is added, changed or removed. */
  entities: number
  /** Changes with every entity that is added or removed. */
  ids: number
}

/**
 * React asks for a snapshot at every change, and thousands of entities may change at once. A number is there at
 * once; the list is built when the component renders.
 */
function versionsOf<E extends object>(sync: Sync<E>): Versions {
  const known = versionsBySync.get(sync)
  if (known) return known
  const versions: Versions = { entities: 0, ids: 0 }
  versionsBySync.set(sync, versions)
  sync.subscribe((change) => {
    if (change.type === 'settings' || change.type === 'status') return
    versions.entities++
    if (change.type !== 'entity' || !change.previous) versions.ids++
  })
  return versions
}

const versionsBySync = new WeakMap<object, Versions>()

/**
 * The settings. The component renders again when they change.
 *
 * @example
 * const { themeToken } = useSyncSettings()
 */
export function useSyncSettings<S extends object = SyncSettings>(): S {
  const sync = useLoadedSync<object, S>()
  return useSnapshot(sync.subscribe, () => sync.settings)
}

/**
 * Whether the data is there, and whether it still changes: `loading`, `ready`, `invalidated` or `closed`.
 *
 * @example
 * if (useSyncStatus() === 'invalidated') return <p>The extension was updated. Please reload this page.</p>
 */
export function useSyncStatus(): SyncStatus {
  const sync = useLoadedSync()
  return useSnapshot(sync.subscribe, () => sync.status)
}

/** The sync, which is bootstrapped if nobody has done so. A failure is repeated by the next hook or write. */
function useLoadedSync<E extends object, S extends object = SyncSettings>(): Sync<E, S> {
  const sync = useSync<E, S>()
  useEffect(() => {
    if (sync.status === 'loading') sync.bootstrap().catch(() => {})
  }, [sync])
  return sync
}

/** A server renders what the sync holds there. */
function useSnapshot<T>(subscribe: (listener: () => void) => () => void, snapshot: () => T): T {
  return useSyncExternalStore(subscribe, snapshot, snapshot)
}
