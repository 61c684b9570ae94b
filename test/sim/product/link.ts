import type { Random, World } from '../world.ts'

/** What a connection does to messages. Probabilities from 0 to 1, and milliseconds. */
export interface Weather {
  readonly delay: readonly [min: number, max: number]
  /** The message never arrives, and nobody is told. */
  readonly lose: number
  /** The message does not arrive, and the connection ends with an error. */
  readonly cut: number
  /** The message arrives twice, the second time later. Only requests can be doubled: by a proxy that repeats them. */
  readonly double: number
}

export const GOOD_WEATHER: Weather = { delay: [1, 20], lose: 0, cut: 0, double: 0 }

export type Fate = 'arrives' | 'is lost' | 'is cut off'

/** One direction or both of a connection between two processes, such as a browser's to the service. */
export class Link {
  weather: Weather = GOOD_WEATHER
  readonly #world: World
  readonly #random: Random
  /** Nothing arrives before: packets are repeated until the way is open again. */
  #heldUntil = 0
  readonly #holds: { readonly from: number; to: number }[] = []

  constructor(world: World, random: Random) {
    this.#world = world
    this.#random = random
  }

  get heldUntil(): number {
    return this.#heldUntil
  }

  get isHeld(): boolean {
    return this.#heldUntil > this.#world.now
  }

  /** Whether nothing came through all this time. */
  wasHeld(from: number, to: number): boolean {
    return this.#holds.some((hold) => hold.from <= from && to <= hold.to)
  }

  hold(ms: number): void {
    const last = this.#holds.at(-1)
    const to = this.#world.now + ms
    if (last && this.isHeld) last.to = Math.max(last.to, to)
    else this.#holds.push({ from: this.#world.now, to })
    this.#heldUntil = Math.max(this.#heldUntil, to)
  }

  /** What becomes of a message. */
  fate(): Fate {
    const { lose, cut } = this.weather
    if (lose > 0 && this.#random.chance(lose)) return 'is lost'
    if (cut > 0 && this.#random.chance(cut)) return 'is cut off'
    return 'arrives'
  }

  isDoubled(): boolean {
    return this.weather.double > 0 && this.#random.chance(this.weather.double)
  }

  /** When a message that is sent now arrives. */
  arrival(): number {
    const [min, max] = this.weather.delay
    return Math.max(this.#world.now, this.#heldUntil) + this.#random.between(min, max)
  }

  /** Messages may overtake each other. */
  send(deliver: () => void): void {
    this.#world.after(this.arrival() - this.#world.now, deliver)
  }

  /** A stream whose messages arrive in their order. */
  stream(): (deliver: () => void) => void {
    let latest = 0
    return (deliver) => {
      latest = Math.max(latest + 0.001, this.arrival())
      this.#world.after(latest - this.#world.now, deliver)
    }
  }
}
