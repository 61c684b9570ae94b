import type { Bus } from '../bus.ts'
import { busClosed, Listeners } from './listeners.ts'

/** For a service of one node, or several in one process that share it. */
export function memoryBus(): Bus {
  const listeners = new Listeners()
  let closed = false
  return {
    async publish(message) {
      if (closed) throw busClosed()
      const text = JSON.stringify(message)
      // As on every other bus, nobody hears before the sender goes on.
      await null
      listeners.hear(text)
    },
    async subscribe(on) {
      if (closed) throw busClosed()
      return listeners.add(on)
    },
    async close() {
      closed = true
      listeners.clear()
    },
  }
}
