import type { AutoSaveEvent, AutoSaveListener } from './types.ts'

type Body<E> = E extends unknown ? Omit<E, 'at'> : never

/** Tells every listener of every event in one order, also of events that a listener itself causes. */
export function createEvents(now: () => number) {
  const listeners = new Set<{ readonly listener: AutoSaveListener }>()
  const pending: AutoSaveEvent[] = []
  return {
    subscribe(listener: AutoSaveListener): () => void {
      const entry = { listener }
      listeners.add(entry)
      return () => {
        listeners.delete(entry)
      }
    },
    emit(body: Body<AutoSaveEvent>): void {
      // Whoever delivers already will come to this one in its turn.
      if (pending.push({ at: now(), ...body } as AutoSaveEvent) > 1) return
      for (let next = pending[0]; next; pending.shift(), next = pending[0]) {
        for (const { listener } of listeners) {
          try {
            listener(next)
          } catch {
            // A listener that throws harms neither the save nor the other listeners.
          }
        }
      }
    },
  }
}
