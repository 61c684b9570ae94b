import type { Random } from '../world.ts'
import type { Weather } from './link.ts'

/** The kinds of trouble. Each takes a while, if `ms` says so, and then ends. */
export const TROUBLES = [
  'a tab crashes',
  'a tab is closed',
  'a tab is reloaded',
  'a tab is opened',
  'a tab stands still',
  'a machine sleeps',
  'a tab is hidden',
  'a browser is offline',
  'a browser is cut off silently',
  'the sockets of a tab are cut',
  'a disk is full',
  'a wall clock jumps',
  'a node crashes',
  'a node is deployed',
  'a node stands still',
  'a node is cut off from the database',
  'the database is cut off',
  'an administrator frees the lock',
] as const

export type TroubleKind = (typeof TROUBLES)[number]

export interface Trouble {
  readonly at: number
  readonly kind: TroubleKind
  readonly ms: number
  /** From 0 up to 1: whom it meets. */
  readonly whom: number
}

/** Everything that a run is made of. A smaller plan of the same seed is a shorter story about the same people. */
export interface Plan {
  readonly people: number
  readonly nodes: number
  /** How long there is trouble. */
  readonly stormMs: number
  /** The mean pause between two actions of a person. */
  readonly paceMs: number
  /** Between browsers and nodes, and between nodes and the database. */
  readonly outside: Weather
  readonly inside: Weather
  readonly troubles: readonly Trouble[]
}

const DURATIONS: Partial<Record<TroubleKind, readonly [number, number]>> = {
  'a tab stands still': [500, 15_000],
  'a machine sleeps': [1000, 20_000],
  'a tab is hidden': [500, 10_000],
  'a browser is offline': [500, 15_000],
  'a browser is cut off silently': [200, 12_000],
  'a disk is full': [1000, 20_000],
  'a wall clock jumps': [0, 0],
  'a node crashes': [300, 8000],
  'a node is deployed': [300, 4000],
  'a node stands still': [200, 9000],
  'a node is cut off from the database': [200, 9000],
  'the database is cut off': [200, 5000],
}

export function drawPlan(random: Random): Plan {
  const sometimes = (probability: number, most: number) =>
    random.chance(probability) ? random.between(0, most) : 0
  const stormMs = random.pick([8000, 15_000, 30_000])
  const weather = (slowest: readonly number[]): Weather => ({
    delay: [1, random.pick(slowest)],
    lose: sometimes(0.3, 0.05),
    cut: sometimes(0.3, 0.06),
    double: sometimes(0.3, 0.06),
  })
  const count = Math.floor(random.between(0, stormMs / 1500))
  const troubles = Array.from({ length: count }, (): Trouble => {
    const kind = random.pick(TROUBLES)
    const [low, high] = DURATIONS[kind] ?? [0, 0]
    return { at: random.between(500, stormMs), kind, ms: random.between(low, high), whom: random.random() }
  })
  return {
    people: random.pick([1, 2, 2, 3]),
    nodes: random.pick([1, 2, 3]),
    stormMs,
    paceMs: random.pick([300, 600, 1200]),
    outside: weather([5, 5, 60, 60, 400, 3000]),
    inside: weather([2, 30, 300]),
    troubles: troubles.sort((a, b) => a.at - b.at),
  }
}
