/**
 * Every code block of README.md and docs is compiled and run as printed, in a project that has installed the packed
 * package. CONTRIBUTING.md has the convention for the blocks.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOfPage, isMigration, pages, titleOf } from './blocks.ts'
import { compile, isCompiled } from './compile.ts'
import { runInNode } from './run-node.ts'
import { Sandbox } from './sandbox.ts'

const blocks = pages().flatMap(blocksOfPage)
const compiled = blocks.filter(isCompiled)
const run = blocks.filter(({ noRun }) => noRun === undefined)
/** `test/browser/docs-pages.test.ts` runs the others. */
const runInPrograms = run.filter((block) => block.role !== 'page' && !isMigration(block))
const migrations = Map.groupBy(run.filter(isMigration), ({ page }) => page)
const excused = blocks.filter(({ noRun }) => noRun !== undefined)

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await Sandbox.create()
})
afterAll(async () => sandbox?.[Symbol.asyncDispose]())

describe('the code on the pages', () => {
  let errors: ReadonlyMap<string, string>
  beforeAll(async () => {
    const placed = []
    for (const block of compiled) placed.push(await sandbox.place(block))
    errors = await compile(placed, sandbox)
  })

  it.each(compiled.map(titleOf))('%s compiles as printed', (title) => {
    expect(errors.get(title) ?? '').toBe('')
  })

  it('compiles in at least 95 of 100 blocks', () => {
    const correct = compiled.length - errors.size
    console.log(summary(correct))
    expect(correct / compiled.length).toBeGreaterThanOrEqual(0.95)
  })
})

describe('a reader', () => {
  it.each(runInPrograms.map((block) => ({ block, title: titleOf(block) })))(
    '$title runs as printed',
    async ({ block }) => {
      await runInNode(await sandbox.place(block), sandbox)
    },
  )
})

describe('a reader who changes to this library', () => {
  it.each([...migrations])('%s: both programs run as printed, and print the same', async (_, programs) => {
    expect(programs.map(({ file }) => file)).toEqual(['before.ts', 'after.ts'])
    const printed: string[] = []
    for (const block of programs) printed.push(await runInNode(await sandbox.place(block), sandbox))
    const [before, after] = printed
    expect(before).not.toBe('')
    expect(after).toBe(before)
  })
})

function summary(correct: number): string {
  const whole = compiled.filter(({ preamble }) => preamble === '').length
  return [
    `${blocks.length} blocks: ${correct} of ${compiled.length} compile, ${run.length} are run, ${excused.length} are not`,
    `${whole} of ${compiled.length} show every line; the others repeat what their page has shown`,
    ...excused.map((block) => `${titleOf(block)}: ${block.noRun}`),
  ].join('\n  ')
}
