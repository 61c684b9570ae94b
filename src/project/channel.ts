import type { Clock } from '../core/index.ts'
import { refuse } from './options.ts'
import type { LockEventListener, ProjectLockEvent, ProjectLockEventBase } from './types.ts'

type Name<T> = T extends `lock:${infer N}` ? N : never
/** Without `lock:`. */
type EventName = Name<ProjectLockEvent['type']>
/** What an event of this name has of its own. */
type Fields<N extends EventName> = Omit<
  Extract<ProjectLockEvent, { type: `lock:${N}` }>,
  'type' | keyof ProjectLockEventBase
>
export type Emit = <N extends EventName>(name: N, fields: Fields<N>) => void

export interface EventChannel {
  subscribe(listener: LockEventListener): () => void
  emit<N extends EventName>(about: Omit<ProjectLockEventBase, 'at'>, name: N, fields: Fields<N>): void
}

/** Tells every listener of every event in one order, also of events that a listener itself causes. */
export function createChannel(clock: Clock): EventChannel {
  const listeners = new Set<LockEventListener>()
  /** What is being told now. */
  let telling: ProjectLockEvent[] = []
  let at = 0
  return {
    subscribe(listener) {
      if (typeof listener !== 'function') refuse('listener', 'a function', listener)
      // An entry of its own, so that the same function may subscribe twice.
      const entry: LockEventListener = (event) => listener(event)
      listeners.add(entry)
      return () => listeners.delete(entry)
    },
    emit(about, name, fields) {
      at = Math.max(at, clock.now())
      // Whoever delivers already will come to this one in its turn.
      const event = { type: `lock:${name}`, at, ...about, ...fields } as unknown as ProjectLockEvent
      if (telling.push(event) > 1) return
      for (const next of telling)
        for (const listener of listeners) {
          try {
            listener(next)
          } catch {
            // A listener that throws harms neither the lock nor the other listeners.
          }
        }
      telling = []
    },
  }
}
