import { expectFunction } from './arguments.ts'
import { notify } from './notify.ts'

export interface Emitter<E> {
  /** Returns a function that ends the subscription. The same function may subscribe twice. */
  subscribe(listener: (event: E) => void): () => void
  /** Whether anybody listens. An event that nobody hears need not be created. */
  readonly isHeard: boolean
  emit(event: E): void
}

/** Delivers every event to every listener in one order, also an event that a listener causes. */
export function createEmitter<E>(): Emitter<E> {
  const listeners = new Set<{ readonly listener: (event: E) => void }>()
  return {
    subscribe(listener) {
      expectFunction('listener', listener)
      const entry = { listener }
      listeners.add(entry)
      return () => {
        listeners.delete(entry)
      }
    },
    get isHeard() {
      return listeners.size > 0
    },
    emit: inOrder((event) => {
      for (const { listener } of listeners) notify(listener, event)
    }),
  }
}

/** Delivers one event after the other: an event that comes during a delivery waits until that one is complete. */
export function inOrder<E>(deliver: (event: E) => void): (event: E) => void {
  let pending: E[] | undefined
  return (event) => {
    if (pending) {
      pending.push(event)
      return
    }
    pending = [event]
    for (const next of pending) deliver(next)
    pending = undefined
  }
}
