/** Runs the tests of one file with a fault in the sources, in this process. So a fault costs less than a second. */
import { join } from 'node:path'
import { bundleTests } from '../in-process/bundle.ts'
import { compileTests, runTests } from '../in-process/tests.ts'
import { type Mutation, mutate } from '../sim/program.ts'

/** What a fault keeps waiting for ever need not be waited for as long as a slow machine may take. */
const FAULTY_LIMIT_MS = 4000

const root = join(import.meta.dirname, '../..')

export interface TestFailure {
  readonly title: string
  readonly message: string
}

/** The first test that fails; `null`: all pass. `isChosen`: the tests that are run, by title. Default: all. */
export async function firstFailure(
  file: string,
  mutations: readonly Mutation[],
  isChosen: (title: string) => boolean = () => true,
): Promise<TestFailure | null> {
  const text = await bundleTests(file, { root, change: (name, source) => mutate(name, source, mutations) })
  let failed: TestFailure | null = null
  const count = await runTests(compileTests(join(root, file), text), root, {
    bail: true,
    ...(mutations.length > 0 && { limit: FAULTY_LIMIT_MS }),
    isChosen: ({ title }) => isChosen(title),
    onOutcome({ title, failure }) {
      if (failure !== undefined) failed = { title, message: failure }
    },
  })
  if (count === 0) throw new Error(`${file} has no such test`)
  return failed
}
