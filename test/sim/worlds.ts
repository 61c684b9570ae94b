/** The simulated worlds, by name. Each runs parts of the product from a seed, and judges what happened. */

import { PART_NAMES, type PartName, type Plan } from './product/plan.ts'
import { compilePrograms } from './product/programs.ts'
import { type ProductOptions, simulateProduct } from './product/simulation.ts'
import { smallerPlans } from './product/smaller-plans.ts'
import type { Mutation } from './program.ts'
import { type Scenario, smallerScenarios } from './scenario.ts'
import { shrink } from './shrink.ts'
import { simulate } from './simulation.ts'

export interface WorldOutcome {
  readonly violations: readonly string[]
  readonly trace: readonly string[]
  /** What was reached, and how often. */
  readonly coverage: ReadonlyMap<string, number>
}

export interface SimulatedWorld {
  run(seed: number, options?: { readonly trace?: boolean }): Promise<WorldOutcome>
  /** The smallest run of a seed that still fails, with its trace. */
  shortest(seed: number): Promise<WorldOutcome>
}

export const WORLDS = {
  managers,
  /** Browsers with drafts, the nodes of the service and its database. */
  documents: productWith('documents'),
  /** Workers that run jobs once, and a queue that delivers again. */
  jobs: productWith('jobs'),
  /** The contexts of an extension, with one state. */
  sync: productWith('sync'),
  /** Tabs that save a project on one disk. */
  autosave: productWith('autosave'),
  /** All parts, with one database. */
  product: productWith(...PART_NAMES),
} as const satisfies Record<string, (mutations?: readonly Mutation[]) => Promise<SimulatedWorld>>
export type WorldName = keyof typeof WORLDS

/** Managers of leases over a store. */
async function managers(): Promise<SimulatedWorld> {
  return {
    run: simulate,
    async shortest(seed) {
      const fails = async (scenario: Scenario) => (await simulate(seed, { scenario })).violations.length > 0
      const scenario = await shrink((await simulate(seed)).scenario, smallerScenarios, fails)
      return simulate(seed, { scenario, trace: true })
    },
  }
}

/** The parts of the product that are in the cast, on one clock, with one database, and in the same browsers. */
function productWith(...cast: readonly PartName[]) {
  return async (mutations: readonly Mutation[] = []): Promise<SimulatedWorld> => {
    const programs = await compilePrograms(cast, { mutations })
    const simulate = (seed: number, options?: ProductOptions) =>
      simulateProduct(programs, cast, seed, options)
    return {
      run: simulate,
      async shortest(seed) {
        const fails = async (plan: Plan) => (await simulate(seed, { plan })).violations.length > 0
        const plan = await shrink((await simulate(seed)).plan, smallerPlans, fails)
        return simulate(seed, { plan, trace: true })
      },
    }
  }
}
