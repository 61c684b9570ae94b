/**
 * Quantiles in constant memory: counts in buckets whose bounds grow geometrically (DDSketch). The error of a quantile
 * is at most 1 % of its value. Values below 0.01 count as 0. Merged sketches equal the sketch of all values.
 */
export const RELATIVE_ERROR = 0.01

const GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
const LOG_GAMMA = Math.log(GAMMA)
const SMALLEST = 0.01
/** 115 days in milliseconds. It limits a sketch to 1 383 buckets. */
const LARGEST = 1e10
const ZERO_BUCKET = Number.NEGATIVE_INFINITY

export class QuantileSketch {
  count = 0
  min = Number.POSITIVE_INFINITY
  max = 0
  /** The number of values in each bucket, by the index of the bucket. */
  readonly #buckets = new Map<number, number>()

  add(value: number): void {
    const bounded = value < SMALLEST ? 0 : Math.min(value, LARGEST)
    this.count++
    this.min = Math.min(this.min, bounded)
    this.max = Math.max(this.max, bounded)
    this.#addTo(bounded === 0 ? ZERO_BUCKET : Math.ceil(Math.log(bounded) / LOG_GAMMA), 1)
  }

  merge(other: QuantileSketch): void {
    this.count += other.count
    this.min = Math.min(this.min, other.min)
    this.max = Math.max(this.max, other.max)
    for (const [index, count] of other.#buckets) this.#addTo(index, count)
  }

  /** The smallest value such that at least the share `q` of all values is not larger; `null` without values. */
  quantile(q: number): number | null {
    const rank = Math.max(1, Math.ceil(q * this.count))
    let seen = 0
    for (const [index, count] of [...this.#buckets].sort(([a], [b]) => a - b)) {
      seen += count
      if (seen >= rank) return Math.min(this.max, Math.max(this.min, middleOf(index)))
    }
    return null
  }

  #addTo(index: number, count: number): void {
    this.#buckets.set(index, (this.#buckets.get(index) ?? 0) + count)
  }
}

/** The value whose relative distance to both bounds of the bucket is the same. */
function middleOf(index: number): number {
  return (2 * GAMMA ** index) / (GAMMA + 1)
}
