import type { Referee } from '../referee.ts'
import type { World } from '../world.ts'
import { Backend } from './backend.ts'
import { Origin } from './origin.ts'
import type { Plan } from './plan.ts'
import type { Programs } from './programs.ts'
import type { Story } from './story.ts'

/** What all parts of a run share. */
export class Stage {
  readonly world: World
  readonly story: Story
  readonly plan: Plan
  readonly programs: Programs
  readonly backend: Backend
  readonly origins: Origins
  isStormy = true
  /** When the last message of the storm has arrived. */
  calmFrom = Infinity

  constructor(world: World, referee: Referee, story: Story, plan: Plan, programs: Programs) {
    this.world = world
    this.story = story
    this.plan = plan
    this.programs = programs
    this.origins = new Origins(world)
    this.backend = new Backend(world, referee, programs)
  }

  /** Ends a trouble, unless the calm has ended it before. */
  later(ms: number, run: () => void): void {
    this.world.after(ms, () => this.isStormy && run())
  }

  /** Looks every `every` milliseconds. False: it has not happened within `within`. */
  async until(isSo: () => boolean, within: number, every: number): Promise<boolean> {
    const { world } = this
    for (let waited = 0; !isSo(); waited += every) {
      if (waited >= within) return false
      await world.runUntil(world.now + every)
    }
    return true
  }

  tellTrouble(who: string, what: string, ms: number): void {
    this.story.tell(who, () => `${what}${ms ? ` for ${ms.toFixed(0)} ms` : ''}`)
  }
}

/** By the name of the browser. Pages of all parts that are in one browser share its storage and its locks. */
class Origins {
  readonly #world: World
  readonly #known = new Map<string, Origin>()

  constructor(world: World) {
    this.#world = world
  }

  of(browser: string): Origin {
    const origin = this.#known.get(browser) ?? new Origin(this.#world, browser)
    this.#known.set(browser, origin)
    return origin
  }
}
