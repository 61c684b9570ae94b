/** Follows docs/stores/your-own.md: the store on that page must pass the suite that every store passes. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import type { Clock, LeaseStore } from '../../src/core/index.ts'
import { describeStore, FakeClock } from '../../src/testing/index.ts'

interface Page {
  readonly TinyDatabase: new (clock: Clock) => { isDown: boolean }
  tinyStore(database: object, clock: Clock): LeaseStore
}

const page = readFileSync(join(root, 'docs/stores/your-own.md'), 'utf8')
const [, code = ''] = /^```ts your-own-store\n([\s\S]*?)^```/m.exec(page) ?? []
const directory = mkdtempSync(join(tmpdir(), 'holdfast-your-own-'))
const file = join(directory, 'index.ts')
writeFileSync(
  file,
  code
    .replaceAll(`'holdfast/store-kit'`, `'${root}/src/store-kit/index.ts'`)
    .replaceAll(`'holdfast'`, `'${root}/src/core/index.ts'`),
)
const { TinyDatabase, tinyStore } = (await import(file)) as Page
afterAll(() => rmSync(directory, { recursive: true }))

describeStore('the store of docs/stores/your-own.md', {
  runner: { describe, it },
  supports: { queue: false },
  create: async () => {
    const clock = new FakeClock()
    const database = new TinyDatabase(clock)
    return { clock, database, store: tinyStore(database, clock), peer: tinyStore(database, clock) }
  },
  pass: ({ clock }, ms) => clock.advance(ms),
  stepClock: ({ clock }, ms) => clock.jump(ms),
  reopen: async ({ clock, database }) => tinyStore(database, clock),
  outage: async ({ database }) => {
    database.isDown = true
    return async () => {
      database.isDown = false
    }
  },
})
