/**
 * Quantiles in constant memory: counts in buckets whose bounds grow geometrically (DDSketch). A quantile is
 * wrong by at most 1 % of its value; what is below 0.01 counts as 0. Sketches of parts add up to the sketch
 * of the whole, exactly.
 */
export const RELATIVE_ERROR = 0.01

const GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
const LOG_GAMMA = Math.log(GAMMA)
const SMALLEST = 0.01
/** 115 days in milliseconds. With it a sketch has at most 1 383 buckets. */
const LARGEST = 1e10

export class Sketch {
  count = 0
  min = Number.POSITIVE_INFINITY
  max = 0
  /** How many values lie in the bucket of each index; index `-Infinity` holds the zeros. */
  readonly #buckets = new Map<number, number>()

  add(value: number): void {
    const bounded = value < SMALLEST ? 0 : Math.min(value, LARGEST)
    this.count++
    this.min = Math.min(this.min, bounded)
    this.max = Math.max(this.max, bounded)
    this.#addTo(bounded === 0 ? Number.NEGATIVE_INFINITY : Math.ceil(Math.log(bounded) / LOG_GAMMA), 1)
  }

  merge(other: Sketch): void {
    this.count += other.count
    this.min = Math.min(this.min, other.min)
    this.max = Math.max(this.max, other.max)
    for (const [index, count] of other.#buckets) this.#addTo(index, count)
  }

  /** The smallest value that at least the share `q` of all values does not exceed; `null` without values. */
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

/** As far from the bucket's lower bound as from its upper one, relatively. */
function middleOf(index: number): number {
  return (2 * GAMMA ** index) / (GAMMA + 1)
}
