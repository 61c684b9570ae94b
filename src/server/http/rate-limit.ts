import type { Clock } from '../../core/index.ts'

interface Bucket {
  tokens: number
  at: number
}

/** A bucket of tokens for each client. One that has filled up again is forgotten. */
export class RateLimit {
  readonly #perMs: number
  readonly #burst: number
  readonly #clock: Clock
  #recent = new Map<string, Bucket>()
  #older = new Map<string, Bucket>()
  #turnAt = 0

  /** `rate`: requests a second; 0: no limit. */
  constructor(rate: number, burst: number, clock: Clock) {
    this.#perMs = rate / 1000
    this.#burst = burst
    this.#clock = clock
  }

  /** Takes one; or says in how many milliseconds there will be one. */
  take(client: string): number {
    if (this.#perMs === 0) return 0
    const now = this.#clock.monotonic()
    this.#turn(now)
    const bucket = this.#recent.get(client) ?? this.#older.get(client) ?? { tokens: this.#burst, at: now }
    bucket.tokens = Math.min(this.#burst, bucket.tokens + (now - bucket.at) * this.#perMs)
    bucket.at = now
    this.#recent.set(client, bucket)
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / this.#perMs)
    bucket.tokens--
    return 0
  }

  /** In the time that an empty bucket takes to fill, whoever did not come has a full one. */
  #turn(now: number): void {
    if (now < this.#turnAt) return
    this.#turnAt = now + this.#burst / this.#perMs
    this.#older = this.#recent
    this.#recent = new Map()
  }
}
