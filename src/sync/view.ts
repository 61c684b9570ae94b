/**
 * What a context shows: the data that it last read from the storage, with the records of the log on top: its own
 * from the moment they are made, and those of others.
 *
 * Each `apply*` takes stored data. It may be called many times with the same data, and emits a change only if the
 * shown data differs afterwards.
 */
import type { SyncChange } from './changes.ts'
import { isDeepEqual, withChanges } from './json.ts'
import type { Operation } from './log.ts'

/** A snapshot of the shown data. It is the same object until something changes. */
export interface SyncState<E extends object, S extends object> {
  /** All entities with their ids, in the order in which they were added. The same array until an entity changes. */
  readonly entries: readonly (readonly [id: string, entity: E])[]
  readonly settings: S
}

/** One operation on one entity, or on the settings. */
interface Edit<T> {
  readonly place: string
  readonly apply: (stored: T | undefined) => T | undefined
  /** It removes the entity. If another edit adds it again, it comes to the end of the list. */
  readonly removes?: boolean
}

export interface ViewOptions<E extends object, S extends object> {
  readonly defaults: S
  readonly emit: (change: SyncChange<E, S>) => void
  /** The settings after a change, or `undefined` if they would not be valid. */
  readonly changeSettings: (settings: S, changes: NonNullable<Operation['settings']>) => S | undefined
}

export type View<E extends object, S extends object> = ReturnType<typeof createView<E, S>>

export function createView<E extends object, S extends object>(options: ViewOptions<E, S>) {
  const { defaults, emit, changeSettings } = options
  let index = new Set<string>()
  let revision = 0
  const stored = new Map<string, E>()
  const shown = new Map<string, E>()
  const edits = new Map<string, Edit<E>[]>()
  const resets: Edit<E>[] = []
  const settingsEdits: Edit<S>[] = []
  /** The records on top by key, with functions that take their edits back. */
  const records = new Map<string, { readonly operations: Operation[]; readonly undo: (() => void)[] }>()
  let storedSettings = defaults
  let shownSettings = defaults
  let state: SyncState<E, S> = { entries: [], settings: defaults }
  let entriesAreOld = false

  return {
    applyIndex(ids: readonly string[], newRevision: number): void {
      const before = index
      index = new Set(ids)
      const gone = [...before].filter((id) => !index.has(id))
      revision = newRevision
      entriesAreOld = true
      for (const id of gone) stored.delete(id)
      // Entities with edits stay shown. Without edits nothing is left: report that as one change.
      if (gone.length > 0 && ids.length === 0 && edits.size === 0) showNone()
      else for (const id of gone) show(id)
    },
    /** Ignores an entity that is not in the index. `undefined`: the key of the entity is missing. */
    applyEntityState(id: string, entity: E | undefined): void {
      if (!index.has(id)) return
      if (entity) stored.set(id, entity)
      else stored.delete(id)
      show(id)
    },
    applySettings(settings: S): void {
      storedSettings = settings
      showSettings()
    },

    /** Puts an operation of a record on top. */
    add(key: string, place: string, operation: Operation): void {
      const { delta = [], patch, settings, reset } = operation
      const { operations, undo } = records.get(key) ?? { operations: [], undo: [] }
      records.set(key, { operations, undo })
      operations.push(operation)
      if (reset) {
        const take = insert(resets, { place, apply: () => undefined, removes: true })
        undo.push(() => take(showAll))
        showAll()
      }
      for (const [id, entity] of delta)
        addEdit(undo, id, { place, apply: () => (entity as E) ?? undefined, removes: !entity })
      if (patch) {
        const [id, ...changes] = patch
        addEdit(undo, id, { place, apply: (entity) => entity && withChanges(entity, changes) })
      }
      if (settings) {
        const apply = (before: S = defaults) => changeSettings(before, settings) ?? before
        const take = insert(settingsEdits, { place, apply })
        undo.push(() => take(showSettings))
        showSettings()
      }
    },
    /** Takes a record away: it is carried out, or has failed. */
    drop(key: string): void {
      const undo = records.get(key)?.undo ?? []
      records.delete(key)
      for (const take of undo) take()
    },
    /** The operations of a record that is on top. */
    operationsOf: (key: string): readonly Operation[] | undefined => records.get(key)?.operations,
    get records(): readonly string[] {
      return [...records.keys()]
    },

    get state(): SyncState<E, S> {
      const entries = entriesAreOld ? renewedEntries() : state.entries
      entriesAreOld = false
      if (entries !== state.entries || shownSettings !== state.settings)
        state = { entries, settings: shownSettings }
      return state
    },
    /** As in `state`, but without the cost of its entries. */
    get settings(): S {
      return shownSettings
    },
    get: (id: string): E | undefined => shown.get(id),
    /** Whether the id is in the stored index. */
    indexes: (id: string) => index.has(id),
    /** Whether the entity was read from storage. */
    holds: (id: string) => stored.has(id),
    get revision() {
      return revision
    },
    get size() {
      return index.size
    },
  }

  function addEdit(undo: (() => void)[], id: string, edit: Edit<E>): void {
    const list = edits.get(id) ?? []
    edits.set(id, list)
    const take = insert(list, edit)
    undo.push(() =>
      take(() => {
        if (list.length === 0) edits.delete(id)
        show(id)
      }),
    )
    show(id)
  }

  function show(id: string): void {
    const list = edits.get(id) ?? []
    const all = resets.length > 0 ? [...list, ...resets].sort(byPlace) : list
    const next = all.reduce((entity, { apply }) => apply(entity), stored.get(id))
    const previous = shown.get(id)
    if (isDeepEqual(previous, next)) return
    entriesAreOld = true
    if (next) {
      shown.set(id, next)
      emit({ type: 'entity', id, entity: next, ...(previous && { previous }) })
    } else if (previous) {
      shown.delete(id)
      emit({ type: 'removed', id, previous })
    }
  }

  /** After a reset. */
  function showAll(): void {
    if (edits.size === 0 && resets.length > 0) showNone()
    else for (const id of new Set([...index, ...shown.keys(), ...edits.keys()])) show(id)
  }

  /** Removes all entities as one change, not one change for each. */
  function showNone(): void {
    if (shown.size === 0) return
    const previous = [...shown]
    shown.clear()
    entriesAreOld = true
    emit({ type: 'cleared', previous })
  }

  function showSettings(): void {
    const next = settingsEdits.reduce((settings, { apply }) => apply(settings) ?? settings, storedSettings)
    const previous = shownSettings
    if (isDeepEqual(previous, next)) return
    shownSettings = next
    emit({ type: 'settings', settings: next, previous })
  }

  /** The present array if it is still correct. */
  function renewedEntries(): SyncState<E, S>['entries'] {
    const { entries } = state
    const stays = (id: string) => !edits.get(id)?.some(({ removes }) => removes)
    const first = resets.length > 0 ? [] : [...index].filter(stays)
    const next = [...new Set([...first, ...shown.keys()])].flatMap((id) => {
      const entity = shown.get(id)
      return entity ? [[id, entity] as const] : []
    })
    const isSame = ([id, entity]: readonly [string, E], position: number) =>
      entries[position]?.[0] === id && entries[position][1] === entity
    return next.length === entries.length && next.every(isSame) ? entries : next
  }
}

const byPlace = (one: { place: string }, other: { place: string }) => (one.place < other.place ? -1 : 1)

/** Returns a function that removes the edit. */
function insert<T>(list: Edit<T>[], edit: Edit<T>): (then: () => void) => void {
  list.push(edit)
  if (list.length > 1) list.sort(byPlace)
  return (then) => {
    list.splice(list.indexOf(edit), 1)
    then()
  }
}
