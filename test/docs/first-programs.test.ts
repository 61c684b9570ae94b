/** `test/browser/first-programs.test.ts` runs those of pages. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compile } from './compile.ts'
import { blockOf, FIRST_PROGRAMS } from './first-programs.ts'
import { runInNode } from './run-node.ts'
import { type PlacedBlock, Sandbox } from './sandbox.ts'

describe('a new user', () => {
  let sandbox: Sandbox
  let errors: ReadonlyMap<string, string>
  const placed = new Map<string, PlacedBlock>()
  beforeAll(async () => {
    sandbox = await Sandbox.create()
    for (const program of FIRST_PROGRAMS) placed.set(program.file, await sandbox.place(blockOf(program)))
    errors = await compile([...placed.values()], sandbox)
  })
  afterAll(async () => sandbox?.[Symbol.asyncDispose]())

  it.each(FIRST_PROGRAMS)('compiles $file', ({ file }) => {
    expect(errors.get(`first-programs/${file}:1`) ?? '').toBe('')
  })

  it.each(FIRST_PROGRAMS.filter(({ role }) => role !== 'page'))('runs $file', async (program) => {
    const printed = await runInNode(await sandbox.place(blockOf(program)), sandbox)
    if (program.prints) expect(printed.trimEnd().split('\n')).toEqual(program.prints)
  })
})
