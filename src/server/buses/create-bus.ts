import { LeaseError } from '../../core/index.ts'
import type { BusMessage } from '../bus.ts'

/** Who hears on this node. One that throws harms nobody else. */
export class Listeners {
  readonly #listeners = new Set<(message: BusMessage) => void>()

  get size(): number {
    return this.#listeners.size
  }

  add(on: (message: BusMessage) => void): AsyncDisposable {
    const listener = (message: BusMessage) => on(message)
    this.#listeners.add(listener)
    return { [Symbol.asyncDispose]: async () => void this.#listeners.delete(listener) }
  }

  clear(): void {
    this.#listeners.clear()
  }

  /** What is no message, such as one of another version, is dropped. */
  hear(text: string): void {
    const message = parse(text)
    if (!message) return
    for (const on of this.#listeners) {
      try {
        on(message)
      } catch {}
    }
  }
}

export function busClosed(): LeaseError {
  return new LeaseError('closed', 'this bus was closed')
}

function parse(text: string): BusMessage | null {
  try {
    const { topic, data } = JSON.parse(text)
    return typeof topic === 'string' && typeof data === 'object' && data !== null ? { topic, data } : null
  } catch {
    return null
  }
}
