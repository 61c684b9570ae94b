/** Follows CONTRIBUTING: the store on that page must pass the suite that every store passes. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import type { Clock, LeaseStore } from '../../src/core/index.ts'
import { describeStore, FakeClock } from '../../src/testing/index.ts'

interface Toy {
  readonly ToyDatabase: new () => object
  toyStore(database: object, clock: Clock): LeaseStore
}

const page = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
const [, code = ''] = /^```ts toy-store\n([\s\S]*?)^```/m.exec(page) ?? []
const directory = mkdtempSync(join(tmpdir(), 'holdfast-toy-'))
const file = join(directory, 'index.ts')
// As if it were in a folder of src/stores.
writeFileSync(file, code.replaceAll(`'../../`, `'${root}/src/`).replaceAll(`'../`, `'${root}/src/stores/`))
const { ToyDatabase, toyStore } = (await import(file)) as Toy
afterAll(() => rmSync(directory, { recursive: true }))

describeStore('the store of CONTRIBUTING', {
  runner: { describe, it },
  supports: { queue: false },
  create: async () => {
    const clock = new FakeClock()
    const database = new ToyDatabase()
    return { clock, database, store: toyStore(database, clock), peer: toyStore(database, clock) }
  },
  pass: ({ clock }, ms) => clock.advance(ms),
  stepClock: ({ clock }, ms) => clock.jump(ms),
  reopen: async ({ clock, database }) => toyStore(database, clock),
})

it('the store of CONTRIBUTING is short: a store is its transitions and little else', () => {
  expect(code.trim().split('\n').length).toBeLessThan(80)
})
