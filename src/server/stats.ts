import type { Clock } from '../base/clock.ts'
import type { LeaseRecord, StoreLoad } from '../core/index.ts'
import type { Stats, StatsBucket } from '../protocol/index.ts'
import type { LeaseFeedEvent } from './lease-feed.ts'
import { STATS_RANGES, WAIT_SAMPLES } from './options.ts'

/** Where figures go. `holdfast/server/node` has one for Prometheus. */
export interface Meter {
  /** `isLong`: it stayed open until something happened, such as the end of a lock. */
  request(route: string, method: string, status: number, seconds: number, isLong: boolean): void
  /** This node has granted a lease, or ended one. Over all nodes, these add up. */
  lease(change: LeaseChange): void
  /** A call of the store, of the documents, of the audit trail, or of the bus. `code`: of the error, if it failed. */
  call(part: Part, operation: string, seconds: number, code?: string): void
  /** `read` returns the current figures. Call it when they are requested. */
  observe(read: () => CurrentFigures): void
  /** All figures as text, for `GET /metrics`. */
  text(): Promise<{ readonly body: string; readonly contentType: string }>
}

export type LeaseChange = 'granted' | 'released' | 'expired' | 'taken-over'
export type Part = 'store' | 'documents' | 'audit' | 'bus'

export interface CurrentFigures {
  /** Of all nodes. */
  readonly locks: number
  /** Of this node, and so are the others. */
  readonly waiters: number
  readonly sockets: number
  /** How busy the store is, if it tells. */
  readonly store: StoreLoad | undefined
}

export type StatsRange = keyof typeof STATS_RANGES
export const statsRanges = Object.keys(STATS_RANGES) as StatsRange[]

interface Bucket {
  readonly number: number
  grants: number
  answered: number
  refusals: number
  ends: number
  expiries: number
  lost: number
  waitCount: number
  readonly waits: number[]
}

/**
 * The figures of the last 15 minutes and of the last day. Every node counts all leases, also those that it finds at its
 * start or later, by the time at which the store granted them. It counts only the waits and answers of its own requests.
 */
export class StatsWindow {
  readonly #clock: Clock
  readonly #since: number
  readonly #windows: Record<StatsRange, Window>

  constructor(clock: Clock) {
    this.#clock = clock
    this.#since = clock.now()
    this.#windows = { '15m': new Window(STATS_RANGES['15m']), '24h': new Window(STATS_RANGES['24h']) }
  }

  onFeedEvent({ phase, lease }: LeaseFeedEvent): void {
    if (phase === 'started') this.#count((bucket) => bucket.grants++, ageOf(lease, this.#clock))
    if (phase !== 'ended') return
    this.#count((bucket) => {
      if (lease.state === 'expired') bucket.expiries++
      else if (lease.state === 'taken-over') bucket.lost++
      else bucket.ends++
    })
  }

  /** A request at this node was granted, or refused without a place in the queue. */
  onAnswered(granted: boolean): void {
    this.#count((bucket) => {
      bucket.answered++
      if (!granted) bucket.refusals++
    })
  }

  onWaited(ms: number): void {
    this.#count((bucket) => {
      const index =
        bucket.waitCount++ < WAIT_SAMPLES
          ? bucket.waits.length
          : Math.floor(this.#clock.random() * WAIT_SAMPLES)
      bucket.waits[index] = ms
    })
  }

  read(range: StatsRange): Pick<Stats, 'since' | 'bucket_ms' | 'buckets'> {
    return {
      since: new Date(this.#since).toISOString(),
      bucket_ms: STATS_RANGES[range].bucketMs,
      buckets: this.#windows[range].read(this.#clock.now()),
    }
  }

  /** `ageMs`: how long ago it happened. */
  #count(change: (bucket: Bucket) => void, ageMs = 0): void {
    const now = this.#clock.now()
    for (const window of Object.values(this.#windows)) {
      const bucket = window.at(now, ageMs)
      if (bucket) change(bucket)
    }
  }
}

/** How long ago the lease was granted, by the clock of the store, which reported it now. */
function ageOf({ acquiredAt, expiresAt, remaining }: LeaseRecord, clock: Clock): number {
  const reportedAt = expiresAt === null || remaining === null ? clock.now() : expiresAt - remaining
  return Math.max(0, reportedAt - acquiredAt)
}

/** The latest buckets of one length. */
class Window {
  readonly #bucketMs: number
  readonly #length: number
  readonly #buckets: Bucket[] = []

  constructor({ bucketMs, buckets }: { readonly bucketMs: number; readonly buckets: number }) {
    this.#bucketMs = bucketMs
    this.#length = buckets
  }

  /** The bucket of a time that was `ageMs` ago; `undefined` if that is too long ago. */
  at(now: number, ageMs: number): Bucket | undefined {
    const last = this.#last(now)
    const number = Math.min(last.number, Math.floor((now - ageMs) / this.#bucketMs))
    if (number <= last.number - this.#length) return undefined
    const found = this.#buckets.findLastIndex((bucket) => bucket.number <= number)
    const known = this.#buckets[found]
    if (known?.number === number) return known
    const bucket = emptyBucket(number)
    this.#buckets.splice(found + 1, 0, bucket)
    return bucket
  }

  #last(now: number): Bucket {
    const number = Math.floor(now / this.#bucketMs)
    const last = this.#buckets.at(-1)
    // If the clock has stepped back, the last bucket is used.
    if (last && last.number >= number) return last
    const bucket = emptyBucket(number)
    this.#buckets.push(bucket)
    while ((this.#buckets[0]?.number ?? number) <= number - this.#length) this.#buckets.shift()
    return bucket
  }

  read(now: number): StatsBucket[] {
    const last = this.#last(now).number
    const byNumber = new Map(this.#buckets.map((bucket) => [bucket.number, bucket]))
    return Array.from({ length: this.#length }, (_, n) => {
      const number = last - this.#length + 1 + n
      return summaryOf(byNumber.get(number) ?? emptyBucket(number), this.#bucketMs)
    })
  }
}

function emptyBucket(number: number): Bucket {
  return {
    number,
    grants: 0,
    answered: 0,
    refusals: 0,
    ends: 0,
    expiries: 0,
    lost: 0,
    waitCount: 0,
    waits: [],
  }
}

function summaryOf({ number, waitCount, waits, ...counts }: Bucket, bucketMs: number): StatsBucket {
  const sorted = waits.toSorted((a, b) => a - b)
  const quantile = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? null
  return {
    at: new Date(number * bucketMs).toISOString(),
    ...counts,
    waits: { count: waitCount, p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99) },
  }
}
