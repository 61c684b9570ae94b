/** Runs the code blocks for pages, as printed, from the packed package. `test/docs` runs all others. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, blocksOfPage, pages, titleOf } from '../docs/blocks.ts'
import { OUTCOMES, outcomeOf } from '../docs/page-outcomes.ts'
import { PageRunner } from '../docs/run-page.ts'
import { Sandbox } from '../docs/sandbox.ts'

const blocks = pages()
  .flatMap(blocksOfPage)
  .filter(({ role, noRun }) => role === 'page' && noRun === undefined)

let sandbox: Sandbox
let runner: PageRunner
beforeAll(async () => {
  sandbox = await Sandbox.create()
  runner = await PageRunner.create(sandbox)
})
afterAll(async () => {
  await runner?.[Symbol.asyncDispose]()
  await sandbox?.[Symbol.asyncDispose]()
})

describe('a reader', () => {
  it.each(
    blocks.map((block) => ({
      block,
      title: [`${titleOf(block)} runs as printed`, outcomeOf(block)?.says ?? []].flat().join(': '),
    })),
  )('$title', async ({ block }) => {
    const placed = await sandbox.place(block)
    await runner.run(placed, async (page, printed) => outcomeOf(block)?.look(page, printed, placed.directory))
  })

  it('a reader sees every outcome that is known', () => {
    const seen = new Set(blocks.map(outcomeOf))
    expect(OUTCOMES.filter((outcome) => !seen.has(outcome))).toEqual([])
  })
})

describe('a page is reported', () => {
  it.each([
    ['that throws', `throw new Error('a mistake')`, 'uncaught: Error: a mistake'],
    ['that rejects later', `void Promise.reject(new Error('a late mistake'))`, 'a late mistake'],
    ['that prints an error', `console.error('a printed mistake')`, 'console: a printed mistake'],
    ['that calls a server that is not there', `await fetch('http://localhost:9/').catch(() => {})`, ':9/'],
    ['that opens a picker without a click', `void showDirectoryPicker()`, 'SecurityError'],
    ['of an extension that rejects', `chrome.runtime.id; await Promise.reject(new Error('no'))`, 'Error: no'],
    [
      'of an extension whose worker throws',
      `import { createCoordinator } from 'holdfast/sync'\nchrome.runtime.id\ncreateCoordinator({})`,
      'expected a StorageAdapter',
    ],
    ['that imports a name which is not exported', `import { a } from 'holdfast/web'\na()`, 'not exported'],
  ])('%s', async (_, code, problem) => {
    const [block] = blocksOf('docs/mistake.md', `\`\`\`js page\n${code}\n\`\`\`\n`)
    if (!block) throw new Error('the page has no block')
    const placed = await sandbox.place(block)
    await expect(runner.run(placed)).rejects.toThrow(problem)
  })
})
