/**
 * What a context shows: the data that it last read from the storage, with the records of the log on top: its own
 * from the moment they are made, and those of others.
 *
 * `apply` may be called many times with the same data. It reports what differs afterwards, all changes together, so a
 * listener sees the state after the last of them.
 */

import type { SyncChange } from './changes.ts'
import { createFold, type Fold } from './fold.ts'
import { isDeepEqual } from './json.ts'
import { idsIn, type Operation } from './log.ts'
import { SMALL_INDEX } from './options.ts'

/** A snapshot of the shown data. It is the same object until something changes. */
export interface SyncState<E extends object, S extends object> {
  /** All entities with their ids, in the order in which they were added. The same array until an entity changes. */
  readonly entries: readonly (readonly [id: string, entity: E])[]
  readonly settings: S
}

export interface ViewUpdate<E extends object, S extends object> {
  /** Stored settings. */
  readonly settings?: S
  /** The stored index, and its revision. */
  readonly ids?: readonly string[]
  readonly revision?: number
  /** Stored entities. Those that are not in the index are ignored. `undefined`: the key of the entity is missing. */
  readonly entities?: readonly (readonly [id: string, entity: E | undefined])[]
  /** The next operations of records, which come on top. */
  readonly add?: readonly (readonly [key: string, operation: Operation])[]
  /** Records that are taken away: they are carried out, or have failed. */
  readonly drop?: readonly string[]
}

export type View<E extends object, S extends object> = ReturnType<typeof createView<E, S>>

export function createView<E extends object, S extends object>(
  defaults: S,
  emit: (changes: readonly SyncChange<E, S>[]) => void,
  tellsWaiting = false,
) {
  let index = new Set<string>()
  let revision = 0
  const stored = new Map<string, E>()
  const shown = new Map<string, E>()
  /** The operations on top, by the key of their record. */
  const records = new Map<string, Operation[]>()
  /** The keys of those that are on their way to the storage. */
  const unsent = new Set<string>()
  /** No record on top has a key after this one. */
  let lastKey = ''
  let storedSettings = defaults
  let top = foldAgain()
  let state: SyncState<E, S> = { entries: [], settings: defaults }
  let entriesAreOld = false

  return {
    apply({
      settings,
      ids,
      revision: ofIds = 0,
      entities = [],
      add = [],
      drop = [],
    }: ViewUpdate<E, S>): void {
      const touched = new Set<string>()
      const waiting = records.size
      /** All entities may have changed. If none is left, that is one change, not one for each entity. */
      let all = false
      const touch = (operation: Operation) => {
        all ||= Boolean(operation.reset)
        for (const id of idsIn(operation)) touched.add(id)
      }

      storedSettings = settings ?? storedSettings
      if (ids) {
        const next = new Set(ids)
        for (const id of index) {
          if (next.has(id)) continue
          touched.add(id)
          stored.delete(id)
        }
        index = next
        revision = ofIds
        all = next.size === 0
        entriesAreOld = true
      }
      for (const [id, entity] of entities.filter(([id]) => index.has(id))) {
        touched.add(id)
        if (entity) stored.set(id, entity)
        else stored.delete(id)
      }
      for (const key of drop) {
        records.get(key)?.forEach(touch)
        records.delete(key)
      }
      let isOnTop = !settings && !ids && entities.length + drop.length === 0
      for (const [key, operation] of add) {
        const operations = records.get(key) ?? []
        records.set(key, operations)
        operations.push(operation)
        touch(operation)
        isOnTop &&= key >= lastKey
        if (isOnTop) {
          lastKey = key
          top.apply(operation)
        }
      }
      if (!isOnTop) top = foldAgain()
      show(all ? [...shown.keys(), ...index, ...touched] : [...touched], all)
      if (tellsWaiting && records.size !== waiting) emit([{ type: 'waiting', waiting: records.size }])
    },
    /** The operations of a record that is on top. */
    operationsOf: (key: string): readonly Operation[] | undefined => records.get(key),
    /** Why an operation on top has no effect. */
    refusal: (operation: Operation) => top.refused.get(operation),
    unsent,
    /** The number of records on top. */
    get waiting() {
      return records.size
    },
    /** The keys of the records that were stored. */
    get records(): readonly string[] {
      return [...records.keys()].filter((key) => !unsent.has(key))
    },

    get state(): SyncState<E, S> {
      const entries = entriesAreOld ? renewedEntries() : state.entries
      entriesAreOld = false
      if (entries !== state.entries) state = { ...state, entries }
      return state
    },
    /** As in `state`, but without the cost of its entries. */
    get settings(): S {
      return state.settings
    },
    get: (id: string): E | undefined => shown.get(id),
    /** Whether the id is in the stored index. */
    indexes: (id: string) => index.has(id),
    /** Whether the entity was read from storage. */
    holds: (id: string) => stored.has(id),
    get revision() {
      return revision
    },
    /** Whether a write waits until the index contains it. */
    get isSmall() {
      return index.size <= SMALL_INDEX
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
    lastKey = ''
    for (const key of [...records.keys()].sort()) {
      lastKey = key
      records.get(key)?.forEach(fold.apply)
    }
    return fold
  }

  function show(ids: readonly string[], all: boolean): void {
    const changes: SyncChange<E, S>[] = []
    if (all && shown.size > 0 && !ids.some(top.entity)) {
      changes.push({ type: 'cleared', previous: [...shown] })
      shown.clear()
    }
    for (const id of ids) {
      const previous = shown.get(id)
      const entity = top.entity(id) as E | undefined
      if (isDeepEqual(previous, entity)) continue
      if (entity) {
        shown.set(id, entity)
        changes.push({ type: 'entity', id, entity, ...(previous && { previous }) })
      } else if (previous) {
        shown.delete(id)
        changes.push({ type: 'removed', id, previous })
      }
    }
    entriesAreOld ||= changes.length > 0
    const { settings: previous } = state
    const settings = (top.settings ?? storedSettings) as S
    if (!isDeepEqual(previous, settings)) {
      state = { ...state, settings }
      changes.push({ type: 'settings', settings, previous })
    }
    if (changes.length > 0) emit(changes)
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
