/** Runs the first programs of a page and of an extension. `test/docs/first-programs.test.ts` runs all others. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blockOf, FIRST_PROGRAMS } from '../docs/first-programs.ts'
import { PageRunner } from '../docs/run-page.ts'
import { Sandbox } from '../docs/sandbox.ts'

describe('a new user', () => {
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

  it.each(FIRST_PROGRAMS.filter(({ role }) => role === 'page'))('runs $file', async (program) => {
    await runner.run(await sandbox.place(blockOf(program)), async (page, printed) => {
      await program.look?.(page)
      if (program.prints) expect(printed).toEqual(program.prints)
    })
  })
})
