/** The simulated worlds, by name. Each runs parts of the product from a seed, and judges what happened. */

import { compilePrograms } from './product/programs.ts'
import { shrink } from './product/shrink.ts'
import { simulateProduct } from './product/simulation.ts'
import type { Mutation } from './program.ts'
import { simulate } from './simulation.ts'

export interface WorldOutcome {
  readonly violations: readonly string[]
  readonly trace: readonly string[]
  /** What was reached, and how often. */
  readonly coverage?: ReadonlyMap<string, number>
}

export interface SimulatedWorld {
  run(seed: number, options?: { readonly trace?: boolean }): Promise<WorldOutcome>
  /** The trace of the smallest run of a seed that still fails. Absent: the run itself is all there is. */
  shortest?(seed: number): Promise<WorldOutcome>
}

export const WORLDS = { managers, documents } as const satisfies Record<
  string,
  (mutations?: readonly Mutation[]) => Promise<SimulatedWorld>
>
export type WorldName = keyof typeof WORLDS

/** Managers of leases over a store. */
async function managers(): Promise<SimulatedWorld> {
  return { run: simulate }
}

/** Browsers with drafts, the nodes of the service and its database. */
async function documents(mutations: readonly Mutation[] = []): Promise<SimulatedWorld> {
  const programs = await compilePrograms({ mutations })
  return {
    run: (seed, options) => simulateProduct(programs, seed, options),
    async shortest(seed) {
      const { plan: drawn } = await simulateProduct(programs, seed)
      const fails = async (plan: typeof drawn) =>
        (await simulateProduct(programs, seed, { plan })).violations.length > 0
      const plan = await shrink(drawn, fails)
      return simulateProduct(programs, seed, { plan, trace: true })
    },
  }
}
