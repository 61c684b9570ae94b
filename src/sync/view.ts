/**
 * What a context shows: what it last read from storage, and over it the edits that are not in storage yet.
 *
 * Each `apply*` takes what is stored as the truth, may be called any number of times with the same, and tells
 * only of what looks different afterwards.
 */
import type { SyncChange } from './changes.ts'
import { isDeepEqual } from './json.ts'

export type Edit<E> = (stored: E | undefined, id: string) => E | undefined

export interface View<E extends object, S extends object> {
  applyIndex(ids: readonly string[], revision: number): void
  /** Of an entity that is not in the index nothing is taken; `undefined` is one whose key is missing. */
  applyEntityState(id: string, entity: E | undefined): void
  applySettings(settings: S): void
  /** Shows an edit of these entities at once. Returns what takes it back. */
  edit(ids: readonly string[], edit: Edit<E>): () => void
  editSettings(edit: (settings: S) => S): () => void
  clear(): () => void

  readonly settings: S
  get(id: string): E | undefined
  /** In the order of the index. The same array until something changes. */
  entries(): readonly (readonly [id: string, entity: E])[]
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
  let entries: readonly (readonly [string, E])[] = []
  let entriesAreOld = false

  return {
    applyIndex(ids, newRevision) {
      const before = index
      index = new Set(ids)
      const gone = [...before].filter((id) => !index.has(id))
      revision = newRevision
      entriesAreOld = true
      for (const id of gone) stored.delete(id)
      // What is being written stays shown; else there is nothing left.
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

    get settings() {
      return shownSettings
    },
    get: (id) => shown.get(id),
    entries() {
      if (entriesAreOld) renewEntries()
      return entries
    },
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

  /** As one change, not as the removal of each. */
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

  function renewEntries(): void {
    const next = [...new Set([...index, ...shown.keys()])].flatMap((id) => {
      const entity = shown.get(id)
      return entity ? [[id, entity] as const] : []
    })
    const isSame = ([id, entity]: readonly [string, E], at: number) =>
      entries[at]?.[0] === id && entries[at][1] === entity
    if (next.length !== entries.length || !next.every(isSame)) entries = next
    entriesAreOld = false
  }
}
