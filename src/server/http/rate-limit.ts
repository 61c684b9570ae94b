import type { Clock } from '../../base/clock.ts'

interface Bucket {
  tokens: number
  at: number
}

/** A token bucket for each address. A bucket that is full again is deleted. */
export class RateLimit {
  readonly #perMs: number
  readonly #burst: number
  readonly #clock: Clock
  #recent = new Map<string, Bucket>()
  #older = new Map<string, Bucket>()
  #deleteAt = 0

  /** `rate`: requests per second; 0: no limit. */
  constructor(rate: number, burst: number, clock: Clock) {
    this.#perMs = rate / 1000
    this.#burst = burst
    this.#clock = clock
  }

  /** Takes a token and returns 0, or returns the milliseconds until there is one. */
  take(address: string): number {
    if (this.#perMs === 0) return 0
    const now = this.#clock.monotonic()
    this.#deleteFull(now)
    const bucket = this.#recent.get(address) ?? this.#older.get(address) ?? { tokens: this.#burst, at: now }
    bucket.tokens = Math.min(this.#burst, bucket.tokens + (now - bucket.at) * this.#perMs)
    bucket.at = now
    this.#recent.set(address, bucket)
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / this.#perMs)
    bucket.tokens--
    return 0
  }

  /** A bucket that was not used for as long as an empty one takes to fill is full. */
  #deleteFull(now: number): void {
    if (now < this.#deleteAt) return
    this.#deleteAt = now + this.#burst / this.#perMs
    this.#older = this.#recent
    this.#recent = new Map()
  }
}
