import { GOOD_WEATHER, type Weather } from './link.ts'
import { PART_NAMES, type Plan } from './plan.ts'

/** Smaller plans, the boldest steps first. What each person does depends on the seed and not on the plan. */
export function* smallerPlans(plan: Plan): Generator<Plan> {
  const { troubles, stormMs } = plan
  yield* withoutPart(plan)
  yield* fewer(plan)
  for (let size = troubles.length; size >= 1; size = Math.floor(size / 2))
    for (let from = 0; from < troubles.length; from += size)
      yield { ...plan, troubles: troubles.filter((_, at) => at < from || at >= from + size) }
  for (const outside of betterWeather(plan.outside)) yield { ...plan, outside }
  for (const inside of betterWeather(plan.inside)) yield { ...plan, inside }
  for (const shorter of [stormMs / 2, stormMs * 0.8].map(Math.ceil))
    if (shorter > 500 && shorter < stormMs) yield { ...plan, stormMs: shorter }
}

function* withoutPart(plan: Plan): Generator<Plan> {
  const present = PART_NAMES.filter((name) => plan[name])
  if (present.length < 2) return
  for (const name of present) {
    const { [name]: _, ...others } = plan
    yield others
  }
}

/** One less of what a part has several of. */
function* fewer(plan: Plan): Generator<Plan> {
  for (const name of PART_NAMES)
    for (const [what, count] of Object.entries(plan[name] ?? {}))
      if (typeof count === 'number' && count > 1)
        yield { ...plan, [name]: { ...plan[name], [what]: count - 1 } }
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
