import type { Clock } from '../../base/clock.ts'
import { notify } from '../../base/notify.ts'
import type { Settings } from '../../configuration/settings.ts'
import type { Log } from '../log.ts'
import { HttpError } from './http-error.ts'
import type { Route } from './route.ts'

export interface RateLimitsOptions {
  readonly settings: Settings
  readonly clock: Clock
  readonly log: Log
}

/** The limits of requests, for each client. */
export class RateLimits {
  readonly #requests: RateLimit
  /** Of renewals and releases, so that no other requests of a client cost it its leases. */
  readonly #holders: RateLimit
  readonly #telemetry: RateLimit
  /** `Authorization` headers with a token of the settings. A guess is limited, because it was never accepted. */
  readonly #trusted = new Set<string>()
  readonly #log: Log
  #hasWarned = false

  constructor({ settings, clock, log }: RateLimitsOptions) {
    this.#requests = new RateLimit(settings.rate, settings.burst, clock)
    this.#holders = new RateLimit(settings.rate, settings.burst, clock)
    this.#telemetry = new RateLimit(settings.telemetryRate, settings.telemetryRate * 4, clock)
    this.#log = log
  }

  /** Requests with this `Authorization` header, which the settings know, have no limit from now on. */
  trust(authorization: string): void {
    this.#trusted.add(authorization)
  }

  /** Throws 429 if the client has sent too many requests. */
  check({ rate }: Route, client: string, authorization = ''): void {
    if (rate === 'none') return
    const limit = rate === 'holder' ? this.#holders : this.#requests
    const waitMs = Math.max(
      this.#trusted.has(authorization) ? 0 : limit.take(client),
      rate === 'telemetry' ? this.#telemetry.take(client) : 0,
    )
    if (waitMs === 0) return
    const headers = { 'Retry-After': String(Math.ceil(waitMs / 1000)) }
    throw new HttpError(429, 'too_many_requests', `too many requests; retry in ${waitMs} ms`, { headers })
  }

  /** The same for a client whose address is not known. */
  checkUnknown(route: Route, client: string): void {
    if (!this.#hasWarned) {
      this.#hasWarned = true
      const remedy = 'give clientOf, or set trustProxy to the number of proxies'
      notify(this.#log, 'warn', 'addresses', {
        error: `requests come without an address, so limits count sessions; ${remedy}`,
      })
    }
    this.check(route, client)
  }
}

interface Bucket {
  tokens: number
  at: number
}

/** A token bucket for each client. A bucket that is full again is deleted. */
class RateLimit {
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
  take(client: string): number {
    if (this.#perMs === 0) return 0
    const now = this.#clock.monotonic()
    this.#deleteFull(now)
    const bucket = this.#recent.get(client) ?? this.#older.get(client) ?? { tokens: this.#burst, at: now }
    bucket.tokens = Math.min(this.#burst, bucket.tokens + (now - bucket.at) * this.#perMs)
    bucket.at = now
    this.#recent.set(client, bucket)
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
