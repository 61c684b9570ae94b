import type { Clock } from '../../core/index.ts'
import type { Changes } from './changes.ts'
import type { Connection } from './connection.ts'
import type { DamagedRows } from './damaged-rows.ts'
import { type Listeners, safely } from './listeners.ts'

const LOOK_EVERY_MS = 10

/** Looks for what other processes have done, as long as somebody in this one wants to know. */
export class Lookout {
  readonly #clock: Clock
  readonly #connection: Connection
  readonly #damaged: DamagedRows
  readonly #listeners: Listeners
  readonly #changes: Changes
  #mark: number | undefined
  #cancelTimer: (() => void) | undefined

  constructor(
    clock: Clock,
    connection: Connection,
    damaged: DamagedRows,
    listeners: Listeners,
    changes: Changes,
  ) {
    this.#clock = clock
    this.#connection = connection
    this.#damaged = damaged
    this.#listeners = listeners
    this.#changes = changes
  }

  start(): void {
    if (this.#listeners.size === 0 && !this.#changes.watched) return
    this.#cancelTimer ??= this.#clock.setTimer(() => this.#onTimer(), LOOK_EVERY_MS, true)
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #onTimer(): void {
    this.#cancelTimer = undefined
    this.start()
    // A database that cannot be read now is looked at again the next time.
    if (this.#cancelTimer) safely(() => this.#look())
  }

  #look(): void {
    const { queries } = this.#connection
    const mark = queries.mark()
    const hasChanged = mark !== this.#mark
    const now = this.#clock.now()
    const find = (resource: string) => {
      const stored = queries.find(resource)
      return stored ? this.#damaged.decode(stored, now) : null
    }
    if (hasChanged) this.#listeners.lookAtLines(find, now)
    this.#listeners.lookAtLeases(hasChanged, (resource) => queries.holder(resource))
    this.#changes.read()
    this.#mark = mark
  }
}
