/**
 * Runs the tests of one file with a fault in the sources, in this process: the file is bundled with the changed source,
 * and its `describe` and `it` are collected here. So a fault costs less than a second.
 */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { format } from 'node:util'
import { build } from 'esbuild'
import { expect, expectTypeOf, vi } from 'vitest'
import { type Mutation, mutate } from '../sim/program.ts'

const root = join(import.meta.dirname, '../..')
/** Of `test/hang-limit.ts`, while there is a fault: what waits for something in vain ends soon. */
const HANG_MS = 2000
/** A test that takes longer hangs. */
const TEST_LIMIT_MS = 10_000

type Hook = () => unknown

/** What the test that runs has asked to be done after it. */
const finished: Hook[] = []

interface Group {
  readonly title: string
  readonly before: Hook[]
  readonly after: Hook[]
  readonly once: { readonly before: Hook[]; readonly after: Hook[] }
  readonly parts: (Group | Test)[]
}

interface Test {
  readonly title: string
  readonly run: (context: object) => unknown
}

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
  const group = await collect(await bundled(file, mutations))
  if (count(group, isChosen) === 0) throw new Error(`${file} has no such test`)
  try {
    return await withoutAlarm(() => runGroup(group, [], [], isChosen))
  } finally {
    vi.unstubAllGlobals()
    vi.useRealTimers()
    vi.restoreAllMocks()
  }
}

/** A fault may leave promises whose rejection nobody handles. They are no error of the test that planted it. */
export async function withoutAlarm<T>(work: () => Promise<T>): Promise<T> {
  const listeners = process.listeners('unhandledRejection')
  const ignore = () => {}
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', ignore)
  try {
    return await work()
  } finally {
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', ignore)
    for (const listener of listeners) process.on('unhandledRejection', listener)
  }
}

async function bundled(file: string, mutations: readonly Mutation[]): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(root, file)],
    bundle: true,
    write: false,
    format: 'cjs',
    target: 'esnext',
    platform: 'node',
    packages: 'external',
    logLevel: 'silent',
    plugins: [
      {
        name: 'fault',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^vitest$/ }, () => ({ path: 'vitest', namespace: 'zoo' }))
          onLoad({ filter: /.*/, namespace: 'zoo' }, () => ({ contents: 'module.exports = zooVitest' }))
          onLoad({ filter: /\.tsx?$/ }, async ({ path }) => ({
            contents: withPaths(
              path,
              mutate(relative(join(root, 'src'), path), await sourceOf(path), mutations),
            ),
            loader: path.endsWith('x') ? 'tsx' : 'ts',
          }))
        },
      },
    ],
  })
  return outputFiles[0]?.text ?? ''
}

async function sourceOf(path: string): Promise<string> {
  const text = await readFile(path, 'utf8')
  return path.endsWith('test/hang-limit.ts') ? text.replace(/HANG_MS = [\d_]+/, `HANG_MS = ${HANG_MS}`) : text
}

function withPaths(path: string, text: string): string {
  return text
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
    .replaceAll('import.meta.filename', JSON.stringify(path))
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
}

async function collect(text: string): Promise<Group> {
  const top = newGroup('')
  let current = top
  const describe = (title: unknown, fill: () => void) => {
    const group = newGroup(String(title))
    current.parts.push(group)
    const outer = current
    current = group
    try {
      fill()
    } finally {
      current = outer
    }
  }
  const it = (title: unknown, run: Test['run'] | object, more?: unknown) =>
    void current.parts.push({
      title: String(title),
      run: (typeof run === 'function' ? run : more) as Test['run'],
    })
  const skipped = () => {}
  const each =
    (add: (title: string, run: () => unknown) => void) =>
    (rows: readonly unknown[]) =>
    (title: string, run: (...row: unknown[]) => unknown) => {
      for (const row of rows) {
        const values = Array.isArray(row) ? row : [row]
        let at = 0
        add(
          title.replace(/%[sdijo]/g, (kind) => format(kind, values[at++])),
          () => run(...values),
        )
      }
    }
  const withVariants = <F extends (...given: never[]) => unknown>(add: F) =>
    Object.assign(add, {
      each: each(add as never),
      skip: skipped,
      sequential: add,
      concurrent: add,
      skipIf: (isSkipped: unknown) => (isSkipped ? skipped : add),
      runIf: (isRun: unknown) => (isRun ? add : skipped),
    })
  const vitest = {
    onTestFinished: (hook: Hook) => void finished.push(hook),
    describe: withVariants(describe),
    it: withVariants(it),
    test: withVariants(it),
    beforeEach: (hook: Hook) => void current.before.push(hook),
    afterEach: (hook: Hook) => void current.after.push(hook),
    beforeAll: (hook: Hook) => void current.once.before.push(hook),
    afterAll: (hook: Hook) => void current.once.after.push(hook),
    expect,
    expectTypeOf,
    vi,
  }
  const module = { exports: {} }
  const run = new Function('zooVitest', 'module', 'exports', 'require', text)
  run(vitest, module, module.exports, createRequire(join(root, 'package.json')))
  return top
}

function newGroup(title: string): Group {
  return { title, before: [], after: [], once: { before: [], after: [] }, parts: [] }
}

function count(group: Group, isChosen: (title: string) => boolean): number {
  return group.parts.reduce(
    (sum, part) => sum + ('run' in part ? Number(isChosen(part.title)) : count(part, isChosen)),
    0,
  )
}

async function runGroup(
  group: Group,
  before: readonly Hook[],
  after: readonly Hook[],
  isChosen: (title: string) => boolean,
): Promise<TestFailure | null> {
  if (count(group, isChosen) === 0) return null
  const hooks = { before: [...before, ...group.before], after: [...group.after, ...after] }
  for (const hook of group.once.before) await hook()
  try {
    for (const part of group.parts) {
      const failure =
        'run' in part
          ? isChosen(part.title) && (await runTest(part, hooks))
          : await runGroup(part, hooks.before, hooks.after, isChosen)
      if (failure) return failure
    }
    return null
  } finally {
    for (const hook of group.once.after) await hook()
  }
}

async function runTest(
  { title, run }: Test,
  { before, after }: { readonly before: readonly Hook[]; readonly after: readonly Hook[] },
): Promise<TestFailure | null> {
  const context = { expect, onTestFinished: (hook: Hook) => void finished.push(hook), skip() {} }
  const steps = async () => {
    for (const hook of before) await hook()
    await run(context)
  }
  try {
    await inTime(steps())
    return null
  } catch (error) {
    return { title, message: String(Object(error).message ?? error) }
  } finally {
    for (const hook of [...finished.splice(0), ...after])
      await inTime(Promise.resolve().then(hook)).catch(() => {})
  }
}

async function inTime(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not end within ${TEST_LIMIT_MS} ms`)), TEST_LIMIT_MS)
  })
  try {
    await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}
