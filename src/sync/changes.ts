import { expectFunction } from './json.ts'

/** What a view has to redraw: never more than this. */
export type SyncChange<E extends object = object, S extends object = object> =
  | { readonly type: 'entity'; readonly id: string; readonly entity: E }
  | { readonly type: 'removed'; readonly id: string }
  | { readonly type: 'settings'; readonly settings: S }
  /** There are no entities any more. */
  | { readonly type: 'cleared' }

export type ChangeListener<E extends object, S extends object> = (change: SyncChange<E, S>) => void

export interface Changes<E extends object, S extends object> {
  /** With an id, only what concerns this entity. */
  subscribe(listener: ChangeListener<E, S>, id?: string): () => void
  emit(change: SyncChange<E, S>): void
}

/** Tells every listener of every change in one order, also of changes that a listener itself makes. */
export function createChanges<E extends object, S extends object>(): Changes<E, S> {
  // By the id they want; `undefined` for all. An entry of its own, so that the same function may subscribe twice.
  const listeners = new Map<string | undefined, Set<{ readonly listener: ChangeListener<E, S> }>>()
  const pending: SyncChange<E, S>[] = []
  return {
    subscribe(listener, id) {
      expectFunction('listener', listener)
      const entry = { listener }
      const group = listeners.get(id) ?? new Set()
      listeners.set(id, group.add(entry))
      return () => {
        group.delete(entry)
        if (group.size === 0 && listeners.get(id) === group) listeners.delete(id)
      }
    },
    emit(change) {
      // Whoever delivers already will come to this one in its turn.
      if (pending.push(change) > 1) return
      for (let next: SyncChange<E, S> | undefined = change; next; pending.shift(), next = pending[0])
        for (const group of concerned(next)) for (const { listener } of group ?? []) deliver(listener, next)
    },
  }

  function concerned(change: SyncChange<E, S>) {
    if (change.type === 'cleared') return [...listeners.values()]
    return [listeners.get(undefined), 'id' in change ? listeners.get(change.id) : undefined]
  }

  function deliver(listener: ChangeListener<E, S>, change: SyncChange<E, S>): void {
    try {
      listener(change)
    } catch {
      // A listener that throws harms neither the state nor the other listeners.
    }
  }
}
