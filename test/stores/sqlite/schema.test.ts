import { expect, it } from 'vitest'
import { migrate } from '../../../src/stores/sqlite/schema.ts'
import { Transactor } from '../../../src/stores/sqlite/transactor.ts'
import { DatabaseFile } from './database-file.ts'

it('a migration finds the tables that another process made while it waited for the lock', async () => {
  await using file = new DatabaseFile()
  const [db, other] = [file.connect(), file.connect()]
  class LateTransactor extends Transactor {
    override run<T>(work: () => T): T {
      migrate(other, 'leases', new Transactor(other))
      return super.run(work)
    }
  }
  migrate(db, 'leases', new LateTransactor(db))
  expect(file.count('leases_meta')).toBe(1)
})
