import { describe, it } from 'vitest'
import type { LeaseStore } from '../../src/core/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { describeStore, type StoreHarness } from '../../src/testing/index.ts'
import { DatabaseFile } from './sqlite/database-file.ts'
import { RunningClock } from './sqlite/running-clock.ts'

interface Harness extends StoreHarness {
  readonly file: DatabaseFile
  readonly clock: RunningClock
  open(): LeaseStore
}

describeStore('sqlite', {
  ...suiteOn((file, clock) => () => file.store({ clock })),
  outage: async ({ file, clock }) => {
    const other = file.connect()
    other.exec('BEGIN EXCLUSIVE')
    clock.speed = 50
    return async () => {
      clock.speed = 1
      other.exec('ROLLBACK')
    }
  },
})

describeStore('sqlite, on one connection of the application', {
  ...suiteOn((file, clock) => {
    const connection = file.connect()
    connection.exec('PRAGMA synchronous = OFF')
    return () => sqliteStore(connection, { clock })
  }),
})

function suiteOn(opener: (file: DatabaseFile, clock: RunningClock) => () => LeaseStore) {
  return {
    runner: { describe, it },
    create: async (): Promise<Harness> => {
      const file = new DatabaseFile()
      const clock = new RunningClock()
      const open = opener(file, clock)
      const [store, peer] = [open(), open()]
      const dispose = async () => {
        clock.stop()
        await Promise.all([store.close(), peer.close()])
        await file[Symbol.asyncDispose]()
      }
      return { file, clock, open, store, peer, dispose }
    },
    pass: ({ clock }: Harness, ms: number) => clock.advance(ms),
    stepClock: ({ clock }: Harness, ms: number) => clock.jump(ms),
    reopen: async ({ open, store }: Harness) => {
      await store.close()
      return open()
    },
    interruptWatch: async ({ file }: Harness) => {
      // As if a hundred changes had been written and trimmed before the store read them.
      file.connect().exec(`INSERT INTO holdfast_leases_changes
        SELECT coalesce(max(seq), 0) + 100, '{}' FROM holdfast_leases_changes`)
    },
  }
}
