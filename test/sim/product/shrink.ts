import { GOOD_WEATHER, type Weather } from './link.ts'
import type { Plan } from './plan.ts'

/** A run is repeated this often to find a smaller plan that still fails. */
const MOST_RUNS = 400

/**
 * The smallest plan that was found which still fails: fewer troubles, fewer people and nodes, better weather, less
 * time. What each person does depends on the seed and not on the plan, so the story stays the same where it can.
 */
export async function shrink(plan: Plan, fails: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let smallest = plan
  let runs = 0
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false
    for (const candidate of smallerPlans(smallest)) {
      if (++runs > MOST_RUNS) return smallest
      if (!(await fails(candidate))) continue
      smallest = candidate
      isSmaller = true
      break
    }
  }
  return smallest
}

/** The boldest steps first. */
function* smallerPlans(plan: Plan): Generator<Plan> {
  const { troubles, people, nodes, stormMs } = plan
  if (people > 1) yield { ...plan, people: people - 1 }
  if (nodes > 1) yield { ...plan, nodes: nodes - 1 }
  for (let size = troubles.length; size >= 1; size = Math.floor(size / 2))
    for (let from = 0; from < troubles.length; from += size)
      yield { ...plan, troubles: troubles.filter((_, at) => at < from || at >= from + size) }
  for (const outside of betterWeather(plan.outside)) yield { ...plan, outside }
  for (const inside of betterWeather(plan.inside)) yield { ...plan, inside }
  for (const shorter of [stormMs / 2, stormMs * 0.8].map(Math.ceil))
    if (shorter > 500 && shorter < stormMs) yield { ...plan, stormMs: shorter }
}

function* betterWeather(weather: Weather): Generator<Weather> {
  if (isGood(weather)) return
  yield GOOD_WEATHER
  for (const what of ['lose', 'cut', 'double'] as const)
    if (weather[what] > 0) yield { ...weather, [what]: 0 }
  if (weather.delay[1] > GOOD_WEATHER.delay[1]) yield { ...weather, delay: GOOD_WEATHER.delay }
}

function isGood({ delay, lose, cut, double }: Weather): boolean {
  return delay[1] <= GOOD_WEATHER.delay[1] && lose === 0 && cut === 0 && double === 0
}
