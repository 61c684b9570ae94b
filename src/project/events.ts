import { type Clock, risingTime } from '../base/clock.ts'
import { createEmitter } from '../base/emitter.ts'
import type { LockEventListener, ProjectLockEvent, ProjectLockEventBase } from './types.ts'

type WithoutPrefix<T> = T extends `lock:${infer Name}` ? Name : never
/** The type of an event without `lock:`. */
export type EventName = WithoutPrefix<ProjectLockEvent['type']>
/** The fields that only events of this name have. */
export type EventFields<N extends EventName> = Omit<
  Extract<ProjectLockEvent, { type: `lock:${N}` }>,
  'type' | keyof ProjectLockEventBase
>

export interface LockEvents {
  subscribe(listener: LockEventListener): () => void
  emit<N extends EventName>(about: Omit<ProjectLockEventBase, 'at'>, name: N, fields: EventFields<N>): void
}

export function createLockEvents(clock: Clock): LockEvents {
  const { subscribe, emit } = createEmitter<ProjectLockEvent>()
  const at = risingTime(clock)
  return {
    subscribe,
    emit: (about, name, fields) =>
      emit({ type: `lock:${name}`, at: at(), ...about, ...fields } as unknown as ProjectLockEvent),
  }
}
