/**
 * What a context shows: the data that it last read from the storage, with the edits on top that are not stored yet.
 *
 * Each `apply*` takes stored data. It may be called many times with the same data, and emits a change only if the
 * shown data differs afterwards.
 */
import type { SyncChange } from './changes.ts'
import { isDeepEqual } from './json.ts'

export type Edit<E> = (stored: E | undefined, id: string) => E | undefined

/** A snapshot of the shown data. It is the same object until something changes. */
export interface SyncState<E extends object, S extends object> {
  /** All entities with their ids, in the order of the index. The same array until an entity changes. */
  readonly entries: readonly (readonly [id: string, entity: E])[]
  readonly settings: S
}

export interface View<E extends object, S extends object> {
  applyIndex(ids: readonly string[], revision: number): void
  /** Ignores an entity that is not in the index. `undefined`: the key of the entity is missing. */
  applyEntityState(id: string, entity: E | undefined): void
  applySettings(settings: S): void
  /** Shows an edit of these entities at once. Returns a function that takes the edit back. */
  edit(ids: readonly string[], edit: Edit<E>): () => void
  editSettings(edit: (settings: S) => S): () => void
  clear(): () => void

  readonly state: SyncState<E, S>
  /** As in `state`, but without the cost of its entries. */
  readonly settings: S
  get(id: string): E | undefined
  /** Whether the id is in the index. */
  indexes(id: string): boolean
  /** Whether the entity was read from storage. */
  holds(id: string): boolean
  readonly revision: number
}

export function createView<E extends object, S extends object>(
  defaults: S,
  emit: (change: SyncChange<E, S>) => void,
): View<E, S> {
  let index = new Set<string>()
  let revision = 0
  const stored = new Map<string, E>()
  const shown = new Map<string, E>()
  const edits = new Map<string, Edit<E>[]>()
  let storedSettings = defaults
  let shownSettings = defaults
  const settingsEdits: ((settings: S) => S)[] = []
  let state: SyncState<E, S> = { entries: [], settings: defaults }
  let entriesAreOld = false

  return {
    applyIndex(ids, newRevision) {
      const before = index
      index = new Set(ids)
      const gone = [...before].filter((id) => !index.has(id))
      revision = newRevision
      entriesAreOld = true
      for (const id of gone) stored.delete(id)
      // Entities with an unfinished edit stay shown. Without edits nothing is left: report that as one change.
      if (gone.length > 0 && ids.length === 0 && edits.size === 0) showNone()
      else for (const id of gone) show(id)
    },
    applyEntityState(id, entity) {
      if (!index.has(id)) return
      if (entity) stored.set(id, entity)
      else stored.delete(id)
      show(id)
    },
    applySettings(settings) {
      storedSettings = settings
      showSettings()
    },

    edit: addEdit,
    editSettings(edit) {
      settingsEdits.push(edit)
      showSettings()
      return () => {
        settingsEdits.splice(settingsEdits.indexOf(edit), 1)
        showSettings()
      }
    },
    clear() {
      const ids = [...shown.keys()]
      showNone()
      return addEdit(ids, () => undefined)
    },

    get state() {
      const entries = entriesAreOld ? renewedEntries() : state.entries
      entriesAreOld = false
      if (entries !== state.entries || shownSettings !== state.settings)
        state = { entries, settings: shownSettings }
      return state
    },
    get settings() {
      return shownSettings
    },
    get: (id) => shown.get(id),
    indexes: (id) => index.has(id),
    holds: (id) => stored.has(id),
    get revision() {
      return revision
    },
  }

  function addEdit(ids: readonly string[], edit: Edit<E>): () => void {
    for (const id of ids) {
      edits.set(id, [...(edits.get(id) ?? []), edit])
      show(id)
    }
    return () => {
      for (const id of ids) {
        const left = (edits.get(id) ?? []).filter((other) => other !== edit)
        if (left.length > 0) edits.set(id, left)
        else edits.delete(id)
        show(id)
      }
    }
  }

  function show(id: string): void {
    const next = (edits.get(id) ?? []).reduce((entity, edit) => edit(entity, id), stored.get(id))
    if (isDeepEqual(shown.get(id), next)) return
    entriesAreOld = true
    if (next) {
      shown.set(id, next)
      emit({ type: 'entity', id, entity: next })
    } else {
      shown.delete(id)
      emit({ type: 'removed', id })
    }
  }

  /** Removes all entities as one change, not one change for each. */
  function showNone(): void {
    if (shown.size === 0) return
    shown.clear()
    entriesAreOld = true
    emit({ type: 'cleared' })
  }

  function showSettings(): void {
    const next = settingsEdits.reduce((settings, edit) => edit(settings), storedSettings)
    if (isDeepEqual(shownSettings, next)) return
    shownSettings = next
    emit({ type: 'settings', settings: next })
  }

  /** The present array if it is still correct. */
  function renewedEntries(): SyncState<E, S>['entries'] {
    const { entries } = state
    const next = [...new Set([...index, ...shown.keys()])].flatMap((id) => {
      const entity = shown.get(id)
      return entity ? [[id, entity] as const] : []
    })
    const isSame = ([id, entity]: readonly [string, E], position: number) =>
      entries[position]?.[0] === id && entries[position][1] === entity
    return next.length === entries.length && next.every(isSame) ? entries : next
  }
}
