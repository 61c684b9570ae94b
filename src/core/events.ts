import type { LeaseEvent, LeaseListener } from './lease.ts'

export interface Events {
  subscribe(listener: LeaseListener): () => void
  /** Whether anybody listens: an event that nobody hears need not be made. */
  wanted(): boolean
  emit(event: LeaseEvent): void
}

/** Tells every listener of every event in one order, also of events that a listener itself causes. */
export function createEvents(): Events {
  const listeners = new Set<{ readonly listener: LeaseListener }>()
  /** What is being told now. */
  let telling: LeaseEvent[] | undefined
  return {
    subscribe(listener) {
      // An entry of its own, so that the same function may subscribe twice.
      const entry = { listener }
      listeners.add(entry)
      return () => listeners.delete(entry)
    },
    wanted: () => listeners.size > 0,
    emit(event) {
      // Whoever tells already comes to this one in its turn.
      if (telling) telling.push(event)
      else {
        telling = [event]
        for (const next of telling) {
          for (const { listener } of listeners) {
            try {
              listener(next)
            } catch {
              // A listener that throws harms neither the lease nor the other listeners.
            }
          }
        }
        telling = undefined
      }
    },
  }
}
