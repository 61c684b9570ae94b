import { Referee } from '../referee.ts'
import { World } from '../world.ts'
import { DocumentsPart } from './documents.ts'
import { EditorsPart } from './editors.ts'
import { JobsPart } from './jobs.ts'
import { GOOD_WEATHER, type Link } from './link.ts'
import type { Part } from './part.ts'
import { drawPlan, type PartName, type Plan, partOf, type Trouble } from './plan.ts'
import type { Programs } from './programs.ts'
import { Stage } from './stage.ts'
import { Story } from './story.ts'
import { SyncPart } from './sync.ts'

/** Calls of the database that were lost in the trouble have reached their limit. */
const CALMS_DOWN_MS = 4000

export interface ProductOutcome {
  readonly seed: number
  readonly plan: Plan
  readonly violations: readonly string[]
  readonly trace: readonly string[]
  readonly coverage: ReadonlyMap<string, number>
}

export interface ProductOptions {
  readonly trace?: boolean
  /** Instead of the plan that the seed draws. */
  readonly plan?: Plan
}

/** One run of the parts of the product: trouble, then calm in which everything must end, then it is judged. */
export async function simulateProduct(
  programs: Programs,
  cast: readonly PartName[],
  seed: number,
  { trace = false, plan }: ProductOptions = {},
): Promise<ProductOutcome> {
  const world = new World(seed)
  const referee = new Referee(world, trace)
  const chosen = plan ?? drawPlan(world, cast)
  const run = new Run(referee, new Stage(world, referee, new Story(referee), chosen, programs))
  await run.storm()
  await run.calm()
  run.judge()
  return {
    seed,
    plan: chosen,
    violations: referee.violations,
    trace: referee.trace,
    coverage: referee.coverage.counts,
  }
}

const PARTS: Readonly<Record<PartName, new (stage: Stage) => Part>> = {
  documents: DocumentsPart,
  jobs: JobsPart,
  sync: SyncPart,
  autosave: EditorsPart,
}

class Run {
  readonly #stage: Stage
  readonly #referee: Referee
  readonly #parts: ReadonlyMap<PartName, Part>

  constructor(referee: Referee, stage: Stage) {
    this.#referee = referee
    this.#stage = stage
    const names = Object.keys(PARTS) as PartName[]
    this.#parts = new Map(
      names.filter((name) => stage.plan[name]).map((name) => [name, new PARTS[name](stage)]),
    )
  }

  async storm(): Promise<void> {
    const { world, plan, story } = this.#stage
    story.tell('plan', () => JSON.stringify(plan))
    for (const link of this.#insideLinks) link.weather = { ...plan.inside, double: 0 }
    for (const link of this.#outsideLinks) link.weather = plan.outside
    for (const part of this.#parts.values()) part.start()
    for (const trouble of plan.troubles)
      world.after(trouble.at, () => this.#stage.isStormy && this.#begin(trouble))
    await world.runUntil(plan.stormMs)
    this.#stage.isStormy = false
  }

  async calm(): Promise<void> {
    const stage = this.#stage
    const { world, plan, story } = stage
    const parts = [...this.#parts.values()]
    story.tell('weather', () => 'is calm from now on')
    const links = [...this.#insideLinks, ...this.#outsideLinks]
    for (const link of links) link.weather = GOOD_WEATHER
    for (const part of parts) part.calm()
    // What the network still carries from the storm may be that late.
    const open = Math.max(world.now, ...links.map(({ heldUntil }) => heldUntil))
    await world.runUntil(open + 4 * plan.outside.delay[1] + CALMS_DOWN_MS)
    stage.calmFrom = world.now
    for (const part of parts) await part.settle()
    for (const part of parts) await part.close()
  }

  judge(): void {
    this.#referee.judgeHistory()
    for (const part of this.#parts.values()) part.judge()
  }

  get #insideLinks(): Link[] {
    return [...this.#parts.values()].flatMap(({ insideLinks }) => insideLinks)
  }

  get #outsideLinks(): Link[] {
    return [...this.#parts.values()].flatMap(({ outsideLinks }) => outsideLinks)
  }

  #begin(trouble: Trouble): void {
    const { kind, ms } = trouble
    if (kind === 'the database is cut off') {
      this.#stage.tellTrouble('database', 'is cut off', ms)
      for (const link of this.#insideLinks) link.hold(ms)
    } else if (!this.#parts.get(partOf(kind))?.meet(trouble)) return
    this.#stage.story.reach(`trouble: ${kind}`)
  }
}
