/**
 * What a context shows: the data that it last read from the storage, with the records of the log on top: its own
 * from the moment they are made, and those of others.
 *
 * Each `apply*` takes stored data. It may be called many times with the same data, and emits a change only if the
 * shown data differs afterwards.
 */
import { LeaseError } from '../base/errors.ts'
import type { SyncChange } from './changes.ts'
import { type FieldChanges, isDeepEqual, withChanges } from './json.ts'
import { idsIn, type Operation, placeOf } from './log.ts'
import { settingsAfter } from './settings.ts'

/** A snapshot of the shown data. It is the same object until something changes. */
export interface SyncState<E extends object, S extends object> {
  /** All entities with their ids, in the order in which they were added. The same array until an entity changes. */
  readonly entries: readonly (readonly [id: string, entity: E])[]
  readonly settings: S
}

/** What one operation does to one entity, or to the settings: it changes fields, or replaces or removes all of it. */
interface Edit {
  readonly place: string
  readonly changes?: FieldChanges
  readonly value?: object | null
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
  const edits = new Map<string, Edit[]>()
  let resets: Edit[] = []
  let settingsEdits: Edit[] = []
  /** The operations on top, by the key of their record. */
  const records = new Map<string, Operation[]>()
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
      else gone.forEach(show)
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

    /** Puts the next operation of a record on top. Returns its place in the log. */
    add(key: string, operation: Operation): string {
      const { delta = [], patch, settings, reset } = operation
      const operations = records.get(key) ?? []
      records.set(key, operations)
      const place = placeOf(key, operations.push(operation) - 1)
      if (reset) {
        resets.push({ place, value: null })
        showAll()
      }
      for (const [id, value] of delta) addEdit(id, { place, value })
      if (patch) {
        const [id, ...changes] = patch
        addEdit(id, { place, changes })
      }
      if (settings) {
        settingsEdits = inOrder([...settingsEdits, { place, changes: settings }])
        showSettings()
      }
      return place
    },
    /** Takes a record away: it is carried out, or has failed. */
    drop(key: string): void {
      const operations = records.get(key) ?? []
      const isLeft = ({ place }: Edit) => !place.startsWith(key)
      records.delete(key)
      resets = resets.filter(isLeft)
      settingsEdits = settingsEdits.filter(isLeft)
      const ids = new Set(operations.flatMap(idsIn))
      for (const id of ids) {
        const left = edits.get(id)?.filter(isLeft) ?? []
        if (left.length > 0) edits.set(id, left)
        else edits.delete(id)
      }
      if (operations.some(({ reset }) => reset)) showAll()
      else ids.forEach(show)
      showSettings()
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

  function addEdit(id: string, edit: Edit): void {
    edits.set(id, inOrder([...(edits.get(id) ?? []), edit]))
    show(id)
  }

  function show(id: string): void {
    const next = inOrder([...(edits.get(id) ?? []), ...resets]).reduce(
      (entity, { changes, value }) =>
        changes ? entity && withChanges(entity, changes) : ((value as E | null) ?? undefined),
      stored.get(id),
    )
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
    else new Set([...index, ...shown.keys(), ...edits.keys()]).forEach(show)
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
    const next = settingsEdits.reduce((settings, { changes }) => {
      const after = changes && settingsAfter(settings, changes, defaults)
      return after instanceof LeaseError ? settings : ((after ?? settings) as S)
    }, storedSettings)
    const previous = shownSettings
    if (isDeepEqual(previous, next)) return
    shownSettings = next
    emit({ type: 'settings', settings: next, previous })
  }

  /** The present array if it is still correct. */
  function renewedEntries(): SyncState<E, S>['entries'] {
    const { entries } = state
    // An entity that was removed and added again comes to the end of the list.
    const stays = (id: string) => !edits.get(id)?.some(({ value }) => value === null)
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

const inOrder = (edits: Edit[]) => edits.sort((one, other) => (one.place < other.place ? -1 : 1))
