import * as holding from './holding.ts'

/** Not a promise here, so that the first request leaves in the tick in which it was made. */
export function loadHolding(): typeof holding | Promise<typeof holding> {
  return holding
}
