/**
 * A test runner for Stryker. It bundles each file of tests once, with the mutants of Stryker in its sources, and runs
 * the tests that reach a mutant in this process, the fastest file first. So a mutant costs milliseconds, where a run of
 * Vitest for each would cost seconds. Each mutant gets modules of its own, because a file is evaluated again for it.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Script } from 'node:vm'
import { createExpect } from 'vitest'
import { bundleTests, HANG_MS } from '../in-process/bundle.ts'
import { compileTests, runTests, type TestName, type TestOutcome } from '../in-process/tests.ts'

/** How often a test may take the time that it took without a mutant. */
const SLOWER = 20
const DRY_LIMIT_MS = 60_000
const MOST_SCRIPTS = 40

/** What the mutants in the sources look at. */
interface Mutants {
  activeMutant?: string | undefined
  currentTestId?: string | undefined
  mutantCoverage?: { readonly static: Hits; readonly perTest: Record<string, Hits> } | undefined
  hitCount?: number | undefined
  hitLimit?: number | undefined
}

/** Mutants by id, and how often each was reached. */
type Hits = Record<string, number>

/** What Stryker expects of a runner. */
interface DryRun {
  readonly status: 'complete'
  readonly tests: readonly {
    readonly id: string
    readonly name: string
    readonly timeSpentMs: number
    readonly status: 0
  }[]
  readonly mutantCoverage: { readonly static: Hits; readonly perTest: Record<string, Hits> }
}

interface MutantToRun {
  readonly testFilter?: readonly string[]
  readonly activeMutant: { readonly id: string }
  readonly hitLimit?: number
}

type MutantRun =
  | { readonly status: 'survived'; readonly nrOfTests: number }
  | { readonly status: 'timeout'; readonly reason: string }
  | {
      readonly status: 'killed'
      readonly killedBy: readonly string[]
      readonly failureMessage: string
      readonly nrOfTests: number
    }

const mutants: Mutants = {}
Object.assign(globalThis, { __stryker__: mutants })

class Runner {
  static readonly inject = ['options', 'logger'] as const
  /** Stryker has gone to its copy of the repository when it creates the runner, and not yet when it loads this file. */
  readonly #root = process.cwd()
  readonly #bundles = join(this.#root, '.bundles')
  readonly #timesFile = join(this.#bundles, 'times.json')
  readonly #files: readonly string[]
  readonly #log: { warn(text: string): void }
  readonly #scripts = new Map<string, Script>()
  #times: Readonly<Record<string, number>> | null = null

  constructor(
    { inProcess }: { readonly inProcess: { readonly testFiles: readonly string[] } },
    log: { warn(text: string): void },
  ) {
    this.#log = log
    this.#files = inProcess.testFiles
    pretendToBeVitest()
  }

  capabilities() {
    return { reloadEnvironment: true }
  }

  async dryRun(): Promise<DryRun> {
    mkdirSync(this.#bundles, { recursive: true })
    const tests: DryRun['tests'][number][] = []
    const perTest: Record<string, Hits> = {}
    const times: Record<string, number> = {}
    for (const file of this.#files) {
      writeFileSync(this.#bundleOf(file), await bundleTests(file, { root: this.#root }))
      const loading: Hits = {}
      mutants.mutantCoverage = { static: loading, perTest: {} }
      const passed: string[] = []
      await runTests(this.#script(file), this.#root, {
        expectOf,
        limit: DRY_LIMIT_MS,
        onTest: (test) => (mutants.currentTestId = idOf(file, test)),
        onOutcome: (outcome) => {
          mutants.currentTestId = undefined
          const { failure, took } = outcome
          const id = idOf(file, outcome)
          if (failure !== undefined) {
            this.#log.warn(`left out, because it fails without a change: ${id}: ${failure}`)
            return
          }
          passed.push(id)
          times[id] = took
          tests.push({ id, name: id, timeSpentMs: took, status: 0 })
        },
      })
      const { perTest: hits } = mutants.mutantCoverage
      // What is evaluated while a file is loaded can fail each of its tests.
      for (const id of passed) perTest[id] = sum(hits[id] ?? {}, loading)
    }
    writeFileSync(this.#timesFile, JSON.stringify(times))
    mutants.mutantCoverage = undefined
    return { status: 'complete', tests, mutantCoverage: { static: {}, perTest } }
  }

  async mutantRun({ testFilter = [], activeMutant, hitLimit }: MutantToRun): Promise<MutantRun> {
    Object.assign(mutants, { activeMutant: activeMutant.id, hitCount: 0, hitLimit, currentTestId: undefined })
    let nrOfTests = 0
    try {
      for (const { file, ids, limit } of this.#chosen(testFilter)) {
        let failed: TestOutcome | undefined
        nrOfTests += await runTests(this.#script(file), this.#root, {
          expectOf,
          bail: true,
          limit,
          isChosen: (test) => ids.has(idOf(file, test)),
          onOutcome(outcome) {
            if (outcome.failure !== undefined) failed = outcome
          },
        })
        if (hitLimit !== undefined && (mutants.hitCount ?? 0) > hitLimit)
          return { status: 'timeout', reason: 'a loop without an end' }
        if (failed)
          return {
            status: 'killed',
            killedBy: [idOf(file, failed)],
            failureMessage: failed.failure ?? '',
            nrOfTests,
          }
      }
      return { status: 'survived', nrOfTests }
    } catch (error) {
      // The file could not be loaded.
      return {
        status: 'killed',
        killedBy: testFilter.slice(0, 1),
        failureMessage: String(error),
        nrOfTests,
      }
    } finally {
      mutants.activeMutant = undefined
    }
  }

  #chosen(testFilter: readonly string[]) {
    this.#times ??= JSON.parse(readFileSync(this.#timesFile, 'utf8')) as Record<string, number>
    const files = new Map<string, { ids: Set<string>; took: number; slowest: number }>()
    for (const id of testFilter) {
      const file = id.slice(0, id.indexOf('#'))
      const chosen = files.get(file) ?? { ids: new Set(), took: 0, slowest: 0 }
      const took = this.#times[id] ?? 0
      chosen.ids.add(id)
      chosen.took += took
      chosen.slowest = Math.max(chosen.slowest, took)
      files.set(file, chosen)
    }
    return [...files]
      .sort(([, a], [, b]) => a.took - b.took)
      .map(([file, { ids, slowest }]) => ({ file, ids, limit: 2 * HANG_MS + SLOWER * slowest }))
  }

  #script(file: string): Script {
    const script =
      this.#scripts.get(file) ??
      compileTests(join(this.#root, file), readFileSync(this.#bundleOf(file), 'utf8'))
    this.#scripts.delete(file)
    this.#scripts.set(file, script)
    for (const oldest of this.#scripts.keys())
      if (this.#scripts.size > MOST_SCRIPTS) this.#scripts.delete(oldest)
    return script
  }

  #bundleOf(file: string): string {
    return join(this.#bundles, `${file.replaceAll('/', '!')}.cjs`)
  }
}

export const strykerPlugins = [{ kind: 'TestRunner', name: 'in-process', injectableClass: Runner }]

function idOf(file: string, { index, title }: TestName): string {
  return `${file}#${index} ${title}`
}

function sum(some: Hits, more: Hits): Hits {
  const all = { ...some }
  for (const [id, count] of Object.entries(more)) all[id] = (all[id] ?? 0) + count
  return all
}

/** `expect.poll` and the fake timers of Vitest ask the worker of Vitest for its settings. */
function pretendToBeVitest(): void {
  Object.assign(globalThis, {
    __vitest_worker__: {
      config: { expect: { poll: { timeout: HANG_MS } }, snapshotOptions: {} },
      filepath: '',
      metaEnv: process.env,
    },
  })
}

/** `expect.poll` wants to know its test. */
function expectOf(title: string): ReturnType<typeof createExpect> {
  const test = {
    name: title,
    fullTestName: title,
    context: {},
    file: { filepath: '' },
    promises: [],
    onFinished: [],
  }
  return createExpect(test as never)
}
