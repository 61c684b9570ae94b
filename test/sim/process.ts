import type { Ask, Clock, LeaseStore, StoreEvent } from '../../src/core/index.ts'
import type { Random, World } from './world.ts'

/** A read of the monotonic clock takes a nanosecond, as on a real machine. */
const READ_MS = 1e-6

/**
 * A simulated process with clocks of its own. It may be paused (its clocks go on and what arrives waits, as
 * after SIGSTOP), suspended with its machine (the monotonic clock stands still as well), or crash.
 */
export class SimProcess implements Clock {
  readonly name: string
  readonly #world: World
  readonly #rate: number
  readonly #born: number
  #wallOffset: number
  #monotonicOffset: number
  #stopped: { readonly at: number; readonly suspended: boolean } | undefined
  #inbox: (() => void)[] = []
  #crashed = false
  #stoppedFor = 0
  #readMs = 0

  readonly random: () => number

  /** `chance`: where its random numbers come from. `skewMs`: how far its wall clock may be from the true time. */
  constructor(world: World, name: string, rate: number, chance: Random = world, skewMs = 300_000) {
    this.name = name
    this.random = chance.random
    this.#world = world
    this.#rate = rate
    this.#born = world.now
    this.#wallOffset = Date.UTC(2030, 0, 1) + chance.between(-skewMs, skewMs)
    this.#monotonicOffset = chance.between(0, 1e6)
  }

  get running(): boolean {
    return !this.#crashed && !this.#stopped
  }

  get crashed(): boolean {
    return this.#crashed
  }

  /** Milliseconds of its monotonic clock that passed while it stood still. */
  get stoppedFor(): number {
    return this.#stoppedFor
  }

  now(): number {
    return Math.floor(this.#wallOffset + this.#world.now * this.#rate)
  }

  monotonic(): number {
    const { at = 0, suspended } = this.#stopped ?? {}
    const until = suspended ? at : this.#world.now
    this.#readMs += READ_MS
    return this.#monotonicOffset + (until - this.#born) * this.#rate + this.#readMs
  }

  setTimer(run: () => void, ms: number): () => void {
    const due = this.monotonic() + Math.max(0, ms)
    let cancelled = false
    let cancelEvent = () => {}
    const arm = (left: number): void => {
      cancelEvent = this.#world.after(left / this.#rate, () =>
        this.deliver(() => {
          if (cancelled) return
          const rest = due - this.monotonic()
          // While the machine slept, so did the clock that this timer goes by.
          if (rest > 1e-6) arm(rest)
          else run()
        }),
      )
    }
    // As real timers do, it takes a moment: one that took none could fire for ever at the same instant.
    if (ms !== Infinity) arm(Math.max(ms, 0.01))
    return () => {
      cancelled = true
      cancelEvent()
    }
  }

  /** Runs in this process: now, when it goes on, or never. */
  deliver(run: () => void): void {
    if (this.#crashed) return
    if (this.#stopped) this.#inbox.push(run)
    else run()
  }

  jump(ms: number): void {
    this.#wallOffset += ms
  }

  stop(suspended: boolean): void {
    this.#stopped ??= { at: this.#world.now, suspended }
  }

  /** Goes on. What has arrived meanwhile is dealt with in any order, as an event loop may. */
  resume(): void {
    if (!this.#stopped) return
    const stoodStill = (this.#world.now - this.#stopped.at) * this.#rate
    if (this.#stopped.suspended) this.#monotonicOffset -= stoodStill
    else this.#stoppedFor += stoodStill
    this.#stopped = undefined
    const waiting = this.#inbox
    this.#inbox = []
    while (waiting.length > 0) {
      const [run] = waiting.splice(Math.floor(this.#world.random() * waiting.length), 1)
      this.#world.after(0, () => run && this.deliver(run))
    }
  }

  crash(): void {
    this.#crashed = true
    this.#inbox = []
  }

  /** The store as seen from within this process: every answer and every push arrives through its event loop. */
  connect(store: LeaseStore): LeaseStore {
    const through = <T>(answer: Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        answer.then(
          (value) => this.deliver(() => resolve(value)),
          (error) => this.deliver(() => reject(error)),
        )
      })
    return {
      kind: store.kind,
      supports: store.supports,
      acquire: ({ wake, lost, ...ask }) =>
        through(
          store.acquire({
            ...ask,
            ...(wake && { wake: (inMs: number) => this.deliver(() => wake(inMs)) }),
            ...(lost && { lost: () => this.deliver(lost) }),
          }),
        ),
      ...(store.acquireAll && {
        acquireAll: (asks: readonly Ask[]) => through((store as Required<LeaseStore>).acquireAll(asks)),
      }),
      renew: (ask) => through(store.renew(ask)),
      release: (ask) => through(store.release(ask)),
      read: (resources) => through(store.read(resources)),
      list: (query) => through(store.list(query)),
      sweep: (query) => through(store.sweep(query)),
      watch: (on, query) => through(store.watch((event: StoreEvent) => this.deliver(() => on(event)), query)),
      close: () => store.close(),
      [Symbol.asyncDispose]: () => store.close(),
    }
  }
}
