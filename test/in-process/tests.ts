/** Collects the tests of a bundle (`bundle.ts`), and runs them one by one in this process. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { format } from 'node:util'
import { constants, Script } from 'node:vm'
import { expect, expectTypeOf, vi } from 'vitest'

/** A test that takes longer hangs. */
const TEST_LIMIT_MS = 10_000

/** The real ones: a test may end while it has replaced them. */
const { setTimeout, clearTimeout, setImmediate } = globalThis

type Hook = () => unknown

interface Group {
  readonly title: string
  readonly before: Hook[]
  readonly after: Hook[]
  readonly once: { readonly before: Hook[]; readonly after: Hook[] }
  readonly parts: (Group | Test)[]
}

interface Test {
  readonly title: string
  /** The position among all tests of the file. */
  readonly index: number
  readonly run: (context: object) => unknown
}

export type TestName = Pick<Test, 'title' | 'index'>

export interface TestOutcome extends TestName {
  /** Absent: it has passed. */
  readonly failure?: string
  readonly took: number
}

export interface RunOptions {
  readonly isChosen?: (test: TestName) => boolean
  /** Called before each test, after the modules were loaded. */
  readonly onTest?: (test: TestName) => void
  readonly onOutcome?: (outcome: TestOutcome) => void
  /** Ends with the first failure. */
  readonly bail?: boolean
  readonly limit?: number
  /** `expect` of a test. Default: that of the test of Vitest which runs now. */
  readonly expectOf?: (title: string) => typeof expect
}

/** `file`: absolute. */
export function compileTests(file: string, text: string): Script {
  return new Script(`(function (vitest, module, exports, require) {${text}\n})`, {
    filename: file,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
}

/** Evaluates the file, and runs its tests. Resolves with the number of tests that were run. */
export async function runTests(script: Script, root: string, options: RunOptions = {}): Promise<number> {
  const run = new Run(script, root, options)
  try {
    return await withoutAlarm(() => run.all())
  } finally {
    vi.useRealTimers()
    vi.unstubAllGlobals()
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  }
}

/** A fault may leave promises whose rejection nobody handles. They are no error of the test that planted it. */
export async function withoutAlarm<T>(work: () => Promise<T>): Promise<T> {
  const events = ['unhandledRejection', 'uncaughtException'] as const
  const listeners = events.map((event) => process.listeners(event as 'uncaughtException'))
  const ignore = () => {}
  for (const event of events) process.removeAllListeners(event).on(event, ignore)
  try {
    return await work()
  } finally {
    await new Promise((resolve) => setImmediate(resolve))
    for (const [n, event] of events.entries()) {
      process.off(event, ignore)
      for (const listener of listeners[n] ?? []) process.on(event, listener as () => void)
    }
  }
}

class Run {
  readonly #options: RunOptions
  /** What the test that runs has asked to be done after it. */
  readonly #finished: Hook[] = []
  readonly #top: Group
  #expect: typeof expect = expect
  #count = 0
  #isOver = false

  constructor(script: Script, root: string, options: RunOptions) {
    this.#options = options
    this.#top = this.#collect(script, root)
  }

  async all(): Promise<number> {
    await this.#group(this.#top, [], [])
    return this.#count
  }

  #collect(script: Script, root: string): Group {
    const top = newGroup('')
    let current = top
    let tests = 0
    const describe = (title: unknown, fill: (() => void) | object, more?: unknown) => {
      const group = newGroup(String(title))
      current.parts.push(group)
      const outer = current
      current = group
      try {
        void ((typeof fill === 'function' ? fill : more) as () => void)()
      } finally {
        current = outer
      }
    }
    const it = (title: unknown, run: Test['run'] | object, more?: unknown) =>
      void current.parts.push({
        title: String(title),
        index: tests++,
        run: (typeof run === 'function' ? run : more) as Test['run'],
      })
    const skipped = () => {}
    const withVariants = <F extends (...given: never[]) => unknown>(add: F) =>
      Object.assign(add, {
        each: each(add as never),
        skip: skipped,
        sequential: add,
        concurrent: add,
        skipIf: (isSkipped: unknown) => (isSkipped ? skipped : add),
        runIf: (isRun: unknown) => (isRun ? add : skipped),
      })
    const expectNow = new Proxy(expect, {
      apply: (_, __, given: Parameters<typeof expect>) => this.#expect(...given),
      get: (_, key) => Reflect.get(this.#expect, key),
    })
    const vitest = {
      onTestFinished: (hook: Hook) => void this.#finished.push(hook),
      describe: withVariants(describe),
      it: withVariants(it),
      test: withVariants(it),
      beforeEach: (hook: Hook) => void current.before.push(hook),
      afterEach: (hook: Hook) => void current.after.push(hook),
      beforeAll: (hook: Hook) => void current.once.before.push(hook),
      afterAll: (hook: Hook) => void current.once.after.push(hook),
      expect: expectNow,
      expectTypeOf,
      vi,
    }
    const module = { exports: {} }
    script.runInThisContext()(vitest, module, module.exports, createRequire(join(root, 'package.json')))
    return top
  }

  async #group(group: Group, before: readonly Hook[], after: readonly Hook[]): Promise<void> {
    const { isChosen = () => true } = this.#options
    if (!hasChosen(group, isChosen)) return
    const hooks = { before: [...before, ...group.before], after: [...group.after, ...after] }
    try {
      for (const hook of group.once.before) await this.#inTime(Promise.resolve().then(hook))
      for (const part of group.parts)
        if (this.#isOver) break
        else if (!('run' in part)) await this.#group(part, hooks.before, hooks.after)
        else if (isChosen(part)) await this.#test(part, hooks)
    } finally {
      for (const hook of group.once.after) await this.#settled(hook)
    }
  }

  async #test(
    { title, index, run }: Test,
    { before, after }: { readonly before: readonly Hook[]; readonly after: readonly Hook[] },
  ): Promise<void> {
    const { onTest, onOutcome, expectOf, bail = false } = this.#options
    this.#expect = expectOf?.(title) ?? expect
    const context = {
      expect: this.#expect,
      onTestFinished: (hook: Hook) => void this.#finished.push(hook),
      skip() {},
    }
    const steps = async () => {
      for (const hook of before) await hook()
      await run(context)
    }
    this.#count++
    onTest?.({ title, index })
    const began = performance.now()
    const end = (failed: { readonly failure: string } | null) =>
      onOutcome?.({ title, index, took: performance.now() - began, ...failed })
    try {
      await this.#inTime(steps())
      end(null)
    } catch (error) {
      end({ failure: String(Object(error).message ?? error) })
      this.#isOver ||= bail
    } finally {
      for (const hook of [...this.#finished.splice(0), ...after]) await this.#settled(hook)
    }
  }

  async #settled(hook: Hook): Promise<void> {
    await this.#inTime(Promise.resolve().then(hook)).catch(() => {})
  }

  async #inTime(work: Promise<unknown>): Promise<void> {
    const { limit = TEST_LIMIT_MS } = this.#options
    let timer: NodeJS.Timeout | undefined
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`it did not end within ${limit} ms`)), limit)
    })
    try {
      await Promise.race([work, late])
    } finally {
      clearTimeout(timer)
    }
  }
}

function each(add: (title: string, run: () => unknown) => void) {
  return (rows: readonly unknown[]) =>
    (title: string, run: (...row: unknown[]) => unknown): void => {
      for (const row of rows) {
        const values = Array.isArray(row) ? row : [row]
        let at = 0
        add(
          title
            .replace(/%[sdijo]/g, (kind) => format(kind, values[at++]))
            .replace(/\$(\w+)/g, (name, field) => (field in Object(row) ? String(Object(row)[field]) : name)),
          () => run(...values),
        )
      }
    }
}

function newGroup(title: string): Group {
  return { title, before: [], after: [], once: { before: [], after: [] }, parts: [] }
}

function hasChosen(group: Group, isChosen: (test: TestName) => boolean): boolean {
  return group.parts.some((part) => ('run' in part ? isChosen(part) : hasChosen(part, isChosen)))
}
