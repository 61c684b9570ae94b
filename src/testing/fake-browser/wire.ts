import type { Clock } from '../../base/clock.ts'

/** Carries calls between a context and the browser. Each has its own delay, but none overtakes an earlier one. */
export type Wire = (arrive: () => void) => void

export interface WireOptions {
  readonly clock: Clock
  readonly random: () => number
  /** Milliseconds. */
  readonly latency: readonly [min: number, max: number]
}

export function createWire({ clock, random, latency: [min, max] }: WireOptions): Wire {
  let lastArrival = 0
  const underWay: (() => void)[] = []
  return (arrive) => {
    lastArrival = Math.max(lastArrival, clock.monotonic() + min + (max - min) * random())
    underWay.push(arrive)
    // Timers for the same moment may fire in another order: a clock goes on between two looks at it.
    clock.setTimer(() => underWay.shift()?.(), lastArrival - clock.monotonic())
  }
}

/** A value as the browser stores and sends it: JSON without `toJSON`, with the keys of objects in order. */
export function browserCopy(value: unknown): unknown {
  const text = JSON.stringify(value, function (this: Record<string, unknown>, key, part: unknown) {
    const own = this[key]
    return own instanceof Date ? { ...own } : part
  })
  return text === undefined
    ? undefined
    : JSON.parse(text, (_key, part: unknown) =>
        typeof part === 'object' && part !== null && !Array.isArray(part)
          ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
          : part,
      )
}
