import { expect, it } from 'vitest'
import { migrate } from '../../../src/stores/sqlite/schema.ts'
import { DatabaseFile } from './database-file.ts'

it('a migration finds the tables that another process created while it waited for the lock', async () => {
  await using file = new DatabaseFile()
  const [db, other] = [file.connect(), file.connect()]
  const exec = db.exec.bind(db)
  db.exec = (sql) => {
    if (sql.startsWith('BEGIN')) migrate(other, 'leases')
    exec(sql)
  }
  migrate(db, 'leases')
  expect(file.count('leases_meta')).toBe(1)
})
