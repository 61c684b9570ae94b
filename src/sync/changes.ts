import { expectFunction, refuse } from '../base/arguments.ts'
import { inOrder } from '../base/emitter.ts'
import { notify } from '../base/notify.ts'

/**
 * - `loading`: until the bootstrap has ended.
 * - `ready`
 * - `invalidated`: the storage was closed under this context, for example because the extension was reloaded under a
 *   content script. Nothing is read or written any more.
 * - `closed`: by `close()`.
 */
export type SyncStatus = 'loading' | 'ready' | 'invalidated' | 'closed'

/** What a view has to redraw: never more than this. `previous` is what was shown before. */
export type SyncChange<E extends object = object, S extends object = object> =
  | { readonly type: 'entity'; readonly id: string; readonly entity: E; readonly previous?: E }
  | { readonly type: 'removed'; readonly id: string; readonly previous: E }
  | { readonly type: 'settings'; readonly settings: S; readonly previous: S }
  /** All entities were removed. */
  | { readonly type: 'cleared'; readonly previous: readonly (readonly [id: string, entity: E])[] }
  | { readonly type: 'status'; readonly status: SyncStatus }
  /** The number of writes that wait, in a storage whose writes wait in another one, such as `storage.sync`. */
  | { readonly type: 'waiting'; readonly waiting: number }

export type ChangeListener<E extends object, S extends object> = (change: SyncChange<E, S>) => void

export interface Changes<E extends object, S extends object> {
  /** With an id, only the changes of this entity. */
  subscribe(listener: ChangeListener<E, S>, id?: string): () => void
  /** Delivers all of these changes before those that a listener causes. */
  emit(changes: readonly SyncChange<E, S>[]): void
}

/** Delivers every change to its listeners in one order. */
export function createChanges<E extends object, S extends object>(): Changes<E, S> {
  // By entity id; `undefined` for all changes. One entry per subscription: the same function may subscribe twice.
  const listeners = new Map<string | undefined, Set<{ readonly listener: ChangeListener<E, S> }>>()
  return {
    subscribe(listener, id) {
      expectFunction('listener', listener)
      if (id !== undefined && typeof id !== 'string') refuse('id', 'a string', id)
      const entry = { listener }
      const group = listeners.get(id) ?? new Set()
      listeners.set(id, group.add(entry))
      return () => {
        group.delete(entry)
        if (group.size === 0 && listeners.get(id) === group) listeners.delete(id)
      }
    },
    emit: inOrder((changes) => {
      for (const change of changes)
        for (const group of groupsFor(change))
          for (const { listener } of group ?? []) notify(listener, change)
    }),
  }

  function groupsFor(change: SyncChange<E, S>) {
    if (change.type === 'cleared') return [...listeners.values()]
    return [listeners.get(undefined), 'id' in change ? listeners.get(change.id) : undefined]
  }
}
