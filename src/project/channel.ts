import type { Clock } from '../core/index.ts'
import type { LockEventListener, ProjectLockEvent, ProjectLockEventBase } from './types.ts'

type Body<E> = E extends ProjectLockEvent ? Omit<E, keyof ProjectLockEventBase> : never
export type EventBody = Body<ProjectLockEvent>

export interface EventChannel {
  subscribe(listener: LockEventListener): () => void
  emit(about: Omit<ProjectLockEventBase, 'at'>, body: EventBody): void
}

/** Tells every listener of every event in one order, also of events that a listener itself causes. */
export function createChannel(clock: Clock): EventChannel {
  const listeners = new Set<{ readonly listener: LockEventListener }>()
  const pending: ProjectLockEvent[] = []
  let lastAt = 0
  return {
    subscribe(listener) {
      // An entry of its own, so that the same function may subscribe twice.
      const entry = { listener }
      listeners.add(entry)
      return () => listeners.delete(entry)
    },
    emit({ leaseId, backend, scope }, body) {
      lastAt = Math.max(lastAt, clock.now())
      const event = { at: lastAt, leaseId, backend, scope, ...body } as ProjectLockEvent
      // Whoever delivers already will come to this one in its turn.
      if (pending.push(event) > 1) return
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
