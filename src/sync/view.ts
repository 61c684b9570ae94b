/**
 * What a context shows: the data that it last read from the storage, with the records of the log on top: its own
 * from the moment they are made, and those of others.
 *
 * Each `apply*` takes stored data. It may be called many times with the same data, and emits a change only if the
 * shown data differs afterwards.
 */
import type { SyncChange } from './changes.ts'
import { createFold, type Fold } from './fold.ts'
import { isDeepEqual } from './json.ts'
import { idsIn, type Operation, placeOf } from './log.ts'

/** A snapshot of the shown data. It is the same object until something changes. */
export interface SyncState<E extends object, S extends object> {
  /** All entities with their ids, in the order in which they were added. The same array until an entity changes. */
  readonly entries: readonly (readonly [id: string, entity: E])[]
  readonly settings: S
}

export type View<E extends object, S extends object> = ReturnType<typeof createView<E, S>>

export function createView<E extends object, S extends object>(
  defaults: S,
  emit: (change: SyncChange<E, S>) => void,
) {
  let index = new Set<string>()
  let revision = 0
  const stored = new Map<string, E>()
  const shown = new Map<string, E>()
  /** The operations on top, by the key of their record. */
  const records = new Map<string, Operation[]>()
  let storedSettings = defaults
  let shownSettings = defaults
  let top = foldAgain()
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
      showAgain(gone, gone.length > 0 && ids.length === 0)
    },
    /** Ignores entities that are not in the index. `undefined`: the key of the entity is missing. */
    applyEntities(entities: readonly (readonly [id: string, entity: E | undefined])[]): void {
      const known = entities.filter(([id]) => index.has(id))
      for (const [id, entity] of known) {
        if (entity) stored.set(id, entity)
        else stored.delete(id)
      }
      showAgain(known.map(([id]) => id))
    },
    applySettings(settings: S): void {
      storedSettings = settings
      showAgain([])
    },

    /** Puts the next operation of a record on top. Returns its place in the log. */
    add(key: string, operation: Operation): string {
      const operations = records.get(key) ?? []
      const isLast = [...records.keys()].every((other) => other <= key)
      records.set(key, operations)
      const place = placeOf(key, operations.push(operation) - 1)
      if (isLast) {
        top.apply([place, operation])
        show(idsIn(operation), operation.reset)
      } else showAgain(idsIn(operation), operation.reset)
      return place
    },
    /** Takes a record away: it is carried out, or has failed. */
    drop(key: string): void {
      const operations = records.get(key) ?? []
      records.delete(key)
      const all = operations.some(({ reset }) => reset) ? [...index, ...shown.keys()] : []
      showAgain(new Set([...all, ...operations.flatMap(idsIn)]))
    },
    /** The operations of a record that is on top. */
    operationsOf: (key: string): readonly Operation[] | undefined => records.get(key),
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

  function foldAgain(): Fold {
    const fold = createFold({
      indexed: index,
      revision,
      find: (id) => stored.get(id),
      settings: storedSettings,
      defaults,
    })
    for (const [key, operations] of [...records].sort(([one], [other]) => (one < other ? -1 : 1)))
      for (const [at, operation] of operations.entries()) fold.apply([placeOf(key, at), operation])
    return fold
  }

  /** After a change below or between the records. */
  function showAgain(ids: Iterable<string>, clears?: boolean): void {
    top = foldAgain()
    show(ids, clears)
  }

  /** `clears`: if nothing is left, that is one change, not one for each entity. */
  function show(ids: Iterable<string>, clears = false): void {
    if (clears && top.values.size === 0) showNone()
    else
      for (const id of clears ? [...shown.keys(), ...ids] : ids)
        showEntity(id, top.entity(id) as E | undefined)
    showSettings((top.settings ?? storedSettings) as S)
  }

  function showEntity(id: string, next: E | undefined): void {
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

  function showNone(): void {
    if (shown.size === 0) return
    const previous = [...shown]
    shown.clear()
    entriesAreOld = true
    emit({ type: 'cleared', previous })
  }

  function showSettings(next: S): void {
    const previous = shownSettings
    if (isDeepEqual(previous, next)) return
    shownSettings = next
    emit({ type: 'settings', settings: next, previous })
  }

  /** The present array if it is still correct. */
  function renewedEntries(): SyncState<E, S>['entries'] {
    const { entries } = state
    // An entity that was removed and added again comes to the end of the list.
    const first = [...index].filter((id) => !top.removed.has(id))
    const next = [...new Set([...first, ...shown.keys()])].flatMap((id) => {
      const entity = shown.get(id)
      return entity ? [[id, entity] as const] : []
    })
    const isSame = ([id, entity]: readonly [string, E], position: number) =>
      entries[position]?.[0] === id && entries[position][1] === entity
    return next.length === entries.length && next.every(isSame) ? entries : next
  }
}
