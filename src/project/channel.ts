import type { Clock } from '../core/index.ts'
import type { LockEventListener, ProjectLockEvent, ProjectLockEventBase } from './types.ts'

type EventType = ProjectLockEvent['type']
/** What an event of this type has of its own. */
type Fields<T extends EventType> = Omit<
  Extract<ProjectLockEvent, { type: T }>,
  'type' | keyof ProjectLockEventBase
>
export type Emit = <T extends EventType>(type: T, fields: Fields<T>) => void

export interface EventChannel {
  subscribe(listener: LockEventListener): () => void
  emit<T extends EventType>(about: Omit<ProjectLockEventBase, 'at'>, type: T, fields: Fields<T>): void
}

/** Tells every listener of every event in one order, also of events that a listener itself causes. */
export function createChannel(clock: Clock): EventChannel {
  const listeners = new Set<{ readonly listener: LockEventListener }>()
  const pending: ProjectLockEvent[] = []
  let at = 0
  return {
    subscribe(listener) {
      // An entry of its own, so that the same function may subscribe twice.
      const entry = { listener }
      listeners.add(entry)
      return () => listeners.delete(entry)
    },
    emit(about, type, fields) {
      at = Math.max(at, clock.now())
      // Whoever delivers already will come to this one in its turn.
      if (pending.push({ type, at, ...about, ...fields } as unknown as ProjectLockEvent) > 1) return
      for (; pending[0]; pending.shift())
        for (const { listener } of listeners) {
          try {
            listener(pending[0])
          } catch {
            // A listener that throws harms neither the lock nor the other listeners.
          }
        }
    },
  }
}
