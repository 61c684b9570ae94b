import { onAbort } from './bounded.ts'
import type { Clock } from './clock.ts'
import type { About, Context } from './context.ts'
import { asLeaseError } from './errors.ts'
import type { LeaseStore } from './store.ts'

/**
 * Wakes one waiter. Rings latch: one that comes while the question is still on its way, before the sleep has
 * begun, ends that sleep at once.
 */
export class Bell {
  readonly #clock: Clock
  #due = Infinity
  #rearm: () => void = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  ring(inMs = 0): void {
    this.#due = Math.min(this.#due, this.#clock.monotonic() + inMs)
    this.#rearm()
  }

  /** Forgets earlier rings; called just before asking, since the answer will tell what they told. */
  reset(): void {
    this.#due = Infinity
  }

  /** Sleeps for `ms`, or less if it rings. Rejects with the reason of `stop` when that aborts. */
  async sleep(ms: number, stop: AbortSignal): Promise<void> {
    this.ring(ms)
    let cancel = () => {}
    let unlisten = () => {}
    await new Promise<void>((resolve, reject) => {
      this.#rearm = () => {
        cancel()
        const left = this.#due - this.#clock.monotonic()
        // A timer would take a millisecond at least.
        if (left > 0) cancel = this.#clock.setTimer(resolve, left)
        else resolve()
      }
      unlisten = onAbort(stop, () => reject(stop.reason))
      this.#rearm()
    }).finally(() => {
      cancel()
      unlisten()
      this.#rearm = () => {}
    })
  }
}

/** Who waits within one manager, where the store keeps no line. */
export interface LocalLine {
  has(resource: string): boolean
  /** Stands in line if need be, and says how many stand before. */
  place(resource: string, bell: Bell): number
  leave(resource: string, bell: Bell): void
  /** Wakes the first in line. */
  ring(resource: string): void
  /** Starts listening to the store. */
  watch(about: About): void
}

/**
 * The line of a manager whose store keeps none. Only the head asks the store; it is woken when a lease of this
 * manager ends, when the store pushes a change, or by its own timer.
 */
export function createLine(store: LeaseStore, emit: Context['emit']): LocalLine {
  const lines = new Map<string, Bell[]>()
  let watch: Promise<AsyncDisposable> | undefined

  const ring = (resource: string) => lines.get(resource)?.[0]?.ring()
  const ringAll = () => {
    for (const resource of lines.keys()) ring(resource)
  }

  return {
    ring,
    has: (resource) => lines.has(resource),
    place(resource, bell) {
      const line = lines.get(resource) ?? []
      lines.set(resource, line)
      const place = line.indexOf(bell)
      return place < 0 ? line.push(bell) - 1 : place
    },
    leave(resource, bell) {
      const rest = lines.get(resource)?.filter((other) => other !== bell)
      if (rest?.length) lines.set(resource, rest)
      else lines.delete(resource)
      ring(resource)
      if (lines.size > 0) return
      watch?.then((ended) => ended[Symbol.asyncDispose]()).catch(() => {})
      watch = undefined
    },
    watch(about) {
      if (watch || !store.supports.push) return
      const starting = store.watch((event) => {
        if (event.type === 'gap') ringAll()
        else if (event.lease.state !== 'held') ring(event.lease.resource)
      })
      watch = starting
      // The heads ask again once it works, since a change before that was not heard.
      starting.then(ringAll, (cause) => {
        if (watch === starting) watch = undefined
        emit(about, { type: 'error', operation: 'watch', error: asLeaseError(cause) })
      })
    },
  }
}
