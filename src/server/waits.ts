import type { Answer, Ask, Clock, LeaseStore } from '../core/index.ts'
import type { Person } from '../protocol/index.ts'
import type { Line } from './line.ts'
import { askInTime, Superseded, Withdrawn } from './waiting.ts'

export interface WaitsOptions {
  readonly store: LeaseStore
  readonly clock: Clock
  readonly line: Line
  /** How long somebody was in line before the grant, over all requests that kept the place. */
  readonly onWaited: (ms: number) => void
}

export interface Wait {
  readonly room: string
  readonly person: Person
  /** Milliseconds. */
  readonly ms: number
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal
}

/** How long a place is kept for a caller whose wait ended, and who may ask again. */
const LINGER_MS = 3000

/**
 * Everybody who waits at this node. A place belongs to an id, so a later wait with the same id takes the place of
 * the earlier, and one that comes soon after it has ended goes on with it.
 */
export class Waits {
  readonly #options: WaitsOptions
  readonly #waiting = new Map<string, AbortController>()
  readonly #lingering = new Map<string, () => void>()

  constructor(options: WaitsOptions) {
    this.#options = options
  }

  async ask(ask: Ask, { room, person, ms, signal }: Wait): Promise<Answer> {
    const { store, clock, line, onWaited } = this.#options
    const { id } = ask
    const askedAt = clock.now()
    this.#waiting.get(id)?.abort(new Superseded())
    this.#stopLingering(id)
    const own = new AbortController()
    this.#waiting.set(id, own)
    const patience = { store, clock, wait: ms, signal: AbortSignal.any([signal, own.signal]) }
    let keepsPlace = false
    try {
      const answer = await askInTime(ask, { ...patience, onStanding: () => line.join(room, id, person) })
      keepsPlace = !answer.granted
      // A clock that was set back counts as no wait.
      if (answer.granted) onWaited(Math.max(0, clock.now() - (line.since(room, id) ?? askedAt)))
      return answer
    } finally {
      // Unless it was superseded, it is for us to clear up.
      if (this.#waiting.get(id) === own) {
        this.#waiting.delete(id)
        if (keepsPlace) this.#linger(ask, room, person)
        else line.leave(room, id)
      }
    }
  }

  /** The party has the lock: what it still asks for elsewhere must not end it when it goes away. */
  granted(room: string, id: string): void {
    this.#waiting.get(id)?.abort(new Superseded())
    this.forget(room, id)
  }

  /** The party gives up: also its request that waits here ends, and is not granted later to nobody. */
  withdraw(room: string, id: string): void {
    this.#waiting.get(id)?.abort(new Withdrawn())
    this.forget(room, id)
  }

  /** The place is gone, or not needed any more. */
  forget(room: string, id: string): void {
    if (this.#stopLingering(id)) this.#options.line.leave(room, id)
  }

  #stopLingering(id: string): boolean {
    this.#lingering.get(id)?.()
    return this.#lingering.delete(id)
  }

  #linger({ resource, id }: Ask, room: string, person: Person): void {
    const { store, clock, line } = this.#options
    const giveUp = async () => {
      this.#lingering.delete(id)
      line.leave(room, id)
      if (line.hasMoved(room, person)) return
      const [holder] = await store.read([resource])
      if (holder?.id !== id) await store.release({ resource, id })
    }
    // A place that cannot be given up now is passed over when its turn comes.
    this.#lingering.set(
      id,
      clock.setTimer(() => void giveUp().catch(() => {}), LINGER_MS, true),
    )
  }
}
