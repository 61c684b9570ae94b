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
        cancel = this.#clock.setTimer(resolve, Math.max(0, this.#due - this.#clock.monotonic()))
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

/**
 * The line of a manager whose store keeps none. Only the head asks the store; it is woken when a lease of this
 * manager ends, when the store pushes a change, or by its own timer.
 */
export class LocalLine {
  readonly #store: LeaseStore
  readonly #emit: Context['emit']
  readonly #lines = new Map<string, Bell[]>()
  #watch: Promise<AsyncDisposable> | undefined

  constructor(store: LeaseStore, emit: Context['emit']) {
    this.#store = store
    this.#emit = emit
  }

  has(resource: string): boolean {
    return this.#lines.has(resource)
  }

  /** Stands in line if need be, and says how many stand before. */
  place(resource: string, bell: Bell): number {
    const line = this.#lines.get(resource) ?? []
    this.#lines.set(resource, line)
    return line.includes(bell) ? line.indexOf(bell) : line.push(bell) - 1
  }

  leave(resource: string, bell: Bell): void {
    const rest = (this.#lines.get(resource) ?? []).filter((other) => other !== bell)
    if (rest.length > 0) this.#lines.set(resource, rest)
    else this.#lines.delete(resource)
    this.ring(resource)
    if (this.#lines.size === 0) this.#unwatch()
  }

  ring(resource: string): void {
    this.#lines.get(resource)?.[0]?.ring()
  }

  /** Starts listening. The heads ask again once it works, since a change before that was not heard. */
  watch(about: About): void {
    if (this.#watch || !this.#store.supports.push) return
    const watch = this.#store.watch((event) => {
      if (event.type === 'gap') this.#ringAll()
      else if (event.lease.state !== 'held') this.ring(event.lease.resource)
    })
    this.#watch = watch
    watch.then(
      () => this.#ringAll(),
      (cause) => {
        if (this.#watch === watch) this.#watch = undefined
        const error = asLeaseError(cause)
        this.#emit(about, { type: 'error', operation: 'watch', error })
      },
    )
  }

  #ringAll(): void {
    for (const resource of this.#lines.keys()) this.ring(resource)
  }

  #unwatch(): void {
    this.#watch?.then((watch) => watch[Symbol.asyncDispose]()).catch(() => {})
    this.#watch = undefined
  }
}
