import type { Clock } from '../base/clock.ts'
import type { StoreLoad } from '../core/index.ts'
import type { Stats, StatsBucket } from '../protocol/index.ts'
import type { Transition } from './lease-feed.ts'

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

const BUCKET_MS = 10_000
const BUCKETS = 90
/** Enough for quantiles. Further waits in the same ten seconds replace earlier ones at random. */
const SAMPLES = 500

interface Bucket {
  readonly number: number
  grants: number
  refusals: number
  ends: number
  expiries: number
  lost: number
  waited: number
  readonly waits: number[]
}

/**
 * The last 15 minutes in buckets of ten seconds. Every node counts all leases, but only the waits and refusals of its
 * own requests.
 */
export class StatsWindow {
  readonly #clock: Clock
  readonly #buckets: Bucket[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  onTransition({ phase, lease }: Transition): void {
    if (phase === 'renewed') return
    const bucket = this.#current()
    if (phase === 'started') bucket.grants++
    else if (lease.state === 'expired') bucket.expiries++
    else if (lease.state === 'taken-over') bucket.lost++
    else bucket.ends++
  }

  onRefused(): void {
    this.#current().refusals++
  }

  onWaited(ms: number): void {
    const bucket = this.#current()
    const index = bucket.waited++ < SAMPLES ? bucket.waits.length : Math.floor(this.#clock.random() * SAMPLES)
    bucket.waits[index] = ms
  }

  read(live: number, waiters: number): Omit<Stats, 'channel_key'> {
    const last = this.#current().number
    const byNumber = new Map(this.#buckets.map((bucket) => [bucket.number, bucket]))
    const buckets = Array.from({ length: BUCKETS }, (_, n) => {
      const number = last - BUCKETS + 1 + n
      return summaryOf(byNumber.get(number) ?? emptyBucket(number))
    })
    return { live, waiters, bucket_ms: BUCKET_MS, buckets }
  }

  #current(): Bucket {
    const number = Math.floor(this.#clock.now() / BUCKET_MS)
    const last = this.#buckets.at(-1)
    // If the clock has stepped back, the last bucket is used.
    if (last && last.number >= number) return last
    const bucket = emptyBucket(number)
    this.#buckets.push(bucket)
    if (this.#buckets.length > BUCKETS) this.#buckets.shift()
    return bucket
  }
}

function emptyBucket(number: number): Bucket {
  return { number, grants: 0, refusals: 0, ends: 0, expiries: 0, lost: 0, waited: 0, waits: [] }
}

function summaryOf({ number, waited, waits, ...counts }: Bucket): StatsBucket {
  const sorted = waits.toSorted((a, b) => a - b)
  const quantile = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? null
  return {
    at: new Date(number * BUCKET_MS).toISOString(),
    ...counts,
    waits: { count: waited, p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99) },
  }
}
