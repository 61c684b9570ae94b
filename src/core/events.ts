import type { LeaseEvent, LeaseListener } from './lease.ts'

/** Tells every listener of every event in one order, also of events that a listener itself causes. */
export class Events {
  readonly #listeners = new Set<LeaseListener>()
  readonly #pending: LeaseEvent[] = []
  #delivering = false

  subscribe(listener: LeaseListener): () => void {
    // A wrapper of its own, so that the same function may subscribe twice.
    const entry: LeaseListener = (event) => listener(event)
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  emit(event: LeaseEvent): void {
    if (this.#listeners.size === 0) return
    this.#pending.push(event)
    if (this.#delivering) return
    this.#delivering = true
    for (let next = this.#pending.shift(); next; next = this.#pending.shift()) {
      for (const listener of this.#listeners) {
        try {
          listener(next)
        } catch {
          // A listener that throws harms neither the lease nor the other listeners.
        }
      }
    }
    this.#delivering = false
  }
}
