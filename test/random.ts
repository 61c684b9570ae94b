/** A generator with a seed: the same seed gives the same choices. */
export interface Random {
  /** From 0 to below 1. */
  next(): number
  chance(share: number): boolean
  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number
  pick<T>(items: readonly T[]): T | undefined
  shuffled<T>(items: readonly T[]): T[]
}

export function seeded(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return {
    next,
    between,
    chance: (share) => next() < share,
    pick: (items) => items[between(0, items.length - 1)],
    shuffled(items) {
      const rest = [...items]
      return items.flatMap(() => rest.splice(between(0, rest.length - 1), 1))
    },
  }
}
