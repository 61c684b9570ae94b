import type { Faults } from '../../src/testing/index.ts'
import type { World } from './world.ts'

/** What goes wrong in one run, drawn from its seed. Times in milliseconds of true time. */
export interface Scenario {
  readonly ttl: number
  readonly clients: number
  readonly resources: readonly string[]
  readonly duration: number
  readonly network: Faults
  /** With which share clients ask, one of these each time; `undefined`: exclusive. */
  readonly shares: readonly (number | undefined)[]
  /** How long leases keep their resource after the grant, and after an expiry; 0: not at all. */
  readonly atLeast: number
  readonly lockDelay: number
  /** Mean time between two faults of a kind; `Infinity` for never. */
  readonly every: {
    readonly pause: number
    readonly suspend: number
    readonly crash: number
    readonly partition: number
    readonly outage: number
    readonly clientJump: number
    readonly storeJump: number
    readonly force: number
  }
}

const SHARES: readonly Scenario['shares'][] = [
  [2],
  [5, 3],
  [Infinity, Infinity, undefined],
  [1, 2, 5, Infinity, undefined],
]

export function drawScenario(world: World): Scenario {
  const ttl = world.pick([1000, 3000, 10_000])
  const duration = ttl * 30
  const sometimes = (low: number, high: number) => (world.chance(0.5) ? world.between(low, high) : 0)
  const faultEvery = (probability: number, low: number, high: number) =>
    world.chance(probability) ? ttl * world.between(low, high) : Infinity
  const jumpyStore = world.chance(0.25)
  return {
    ttl,
    clients: Math.floor(world.between(2, 6)),
    resources: world.chance(0.7) ? ['a'] : ['a', 'b'],
    duration,
    shares: world.chance(0.5) ? [undefined] : world.pick(SHARES),
    atLeast: world.chance(0.2) ? ttl * world.between(0.1, 2) : 0,
    lockDelay: world.chance(0.2) ? ttl * world.between(0.1, 2) : 0,
    network: {
      delay: [0, world.pick([2, 20, ttl / 20, ttl / 3, ttl * 1.2])],
      loseRequest: sometimes(0, 0.08),
      loseAnswer: sometimes(0, 0.08),
      failBefore: sometimes(0, 0.1),
      failAfter: sometimes(0, 0.1),
      duplicate: sometimes(0, 0.15),
      losePush: sometimes(0, 0.3),
    },
    every: {
      pause: faultEvery(0.6, 1, 8),
      suspend: faultEvery(0.4, 2, 10),
      crash: faultEvery(0.4, 4, 12),
      partition: faultEvery(0.4, 3, 12),
      outage: faultEvery(0.3, 5, 15),
      clientJump: faultEvery(0.4, 2, 10),
      storeJump: jumpyStore ? ttl * world.between(2, 8) : Infinity,
      force: jumpyStore ? ttl * world.between(2, 8) : Infinity,
    },
  }
}

/** Smaller scenarios, the boldest steps first. */
export function* smallerScenarios(scenario: Scenario): Generator<Scenario> {
  const { clients, resources, shares, network, every, duration, ttl } = scenario
  if (clients > 1) yield { ...scenario, clients: clients - 1 }
  if (resources.length > 1) yield { ...scenario, resources: resources.slice(0, 1) }
  for (const kind of Object.keys(every) as (keyof Scenario['every'])[])
    if (every[kind] < Infinity) yield { ...scenario, every: { ...every, [kind]: Infinity } }
  for (const fault of Object.keys(network) as (keyof Faults)[])
    if (fault !== 'delay' && network[fault]) yield { ...scenario, network: { ...network, [fault]: 0 } }
  if (Number(network.delay?.[1]) > 2) yield { ...scenario, network: { ...network, delay: [0, 2] } }
  for (const kept of ['atLeast', 'lockDelay'] as const) if (scenario[kept]) yield { ...scenario, [kept]: 0 }
  if (shares.length > 1 || shares[0] !== undefined) yield { ...scenario, shares: [undefined] }
  for (const shorter of [duration / 2, duration * 0.8])
    if (shorter > 2 * ttl) yield { ...scenario, duration: shorter }
}
