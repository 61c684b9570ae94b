/** Follows docs/stores/your-own.md: the stores on that page must pass the suite that every store passes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import type { Clock, LeaseStore } from '../../src/core/index.ts'
import { describeStore, FakeClock } from '../../src/testing/index.ts'
import { codeOf } from '../docs/blocks.ts'

interface WithRegisters {
  readonly TinyDatabase: new (clock: Clock) => { isDown: boolean }
  tinyStore(database: object, clock: Clock): LeaseStore
}

interface WithTransactions {
  handMadeStore(path: string, clock: Clock): LeaseStore
}

const directory = mkdtempSync(join(tmpdir(), 'holdfast-your-own-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** The module that the page shows as this file, with the source of the package. */
function moduleOf(name: string): Promise<unknown> {
  const file = join(directory, name)
  const code = codeOf('docs/stores/your-own.md', name)
    .replaceAll(`'holdfast/store-kit'`, `'${root}/src/store-kit/index.ts'`)
    .replaceAll(`'holdfast'`, `'${root}/src/core/index.ts'`)
  writeFileSync(file, code)
  return import(file)
}

const { TinyDatabase, tinyStore } = (await moduleOf('tiny-store.ts')) as WithRegisters
const { handMadeStore } = (await moduleOf('hand-made-store.ts')) as WithTransactions

describeStore('the store of docs/stores/your-own.md with compare and set', {
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

describeStore('the store of docs/stores/your-own.md with transactions', {
  runner: { describe, it },
  supports: { queue: false, push: false },
  // It loads and saves all rows for each call.
  contention: 60,
  create: async () => {
    const clock = new FakeClock()
    const path = join(directory, `${crypto.randomUUID()}.db`)
    const open = () => handMadeStore(path, clock)
    const [store, peer] = [open(), open()]
    const dispose = async () => {
      await store.close()
      await peer.close()
    }
    return { clock, open, store, peer, dispose }
  },
  pass: ({ clock }, ms) => clock.advance(ms),
  stepClock: ({ clock }, ms) => clock.jump(ms),
  reopen: async ({ open }) => open(),
})
