/** Between `npm run test:explore` and the tests: counterexamples, and the environment. */
import { join } from 'node:path'

export const REGRESSIONS_FILE = join(import.meta.dirname, 'regressions.json')

/** A counterexample that was found once. Every later run replays it. */
export interface Regression {
  /** The file and the title of the test; with a number if the test has several properties. */
  readonly property: string
  readonly seed: number
  readonly path: string
}

/** What `npm run test:explore` tells the tests, in the environment. */
export interface Exploration {
  readonly HOLDFAST_EXPLORE_SEED: string
  /** The directory for new counterexamples, one file each, because several workers write. */
  readonly HOLDFAST_EXPLORE_FOUND: string
}
