import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import {
  expectWritten,
  fenceAllows,
  guardTable,
  postgresGuard,
  type SqliteDatabase,
  sqliteGuard,
} from './index.ts'

const lease = { resource: 'r', token: 7, id: 'a' }

describe('a guard in SQL', () => {
  it('a guard in SQL accepts only table names that need no quotes', () => {
    expect(guardTable()).toContain(' holdfast_guard\n')
    expect(guardTable({ table: 'app.Guard_2' })).toContain(' app.Guard_2\n')
    for (const table of ['', '1a', 'a b', 'a;b', 'a"b', 'a.b.c', "a'", null, true, 10n] as string[]) {
      const invalid = expect.objectContaining({
        code: 'invalid-argument',
        message: expect.stringMatching('^table: expected letters, digits and underscores, got '),
      })
      expect(() => guardTable({ table })).toThrow(invalid)
      expect(() => postgresGuard({ unsafe: async () => [] }, { table })).toThrow(invalid)
      expect(() => sqliteGuard(new DatabaseSync(':memory:'), { table })).toThrow(invalid)
    }
    expect(() => guardTable(null as never)).toThrow('options: expected an object, got null')
  })

  it('refuses to go on if the fence disappears between two statements', async () => {
    await expect(postgresGuard({ unsafe: async () => [] }).check(lease)).rejects.toMatchObject({
      code: 'store-unavailable',
      retryable: true,
    })
  })
})

describe('a guard in Postgres', () => {
  const expected = 'client: expected a Pool or Client of pg, or the sql of postgres'

  it.each([
    ['an empty object', {}, 'an object'],
    ['null', null, 'null'],
    ['a URL', 'postgres://user:secret@host', 'a string'],
    ['a BigInt', 10n, '10n'],
  ])('a guard in Postgres refuses %s as its client', (_, client, shown) => {
    expect(() => postgresGuard(client as never)).toThrow(
      expect.objectContaining({ code: 'invalid-argument', message: `${expected}, got ${shown}` }),
    )
  })

  it('a guard in Postgres refuses a client of another database by its answer', async () => {
    for (const foreign of [{ query: async () => [[], []] }, { unsafe: async () => 1 }])
      await expect(postgresGuard(foreign as never).check(lease)).rejects.toMatchObject({
        code: 'invalid-argument',
        message: `${expected}, got an object`,
      })
  })

  it('a guard in Postgres accepts the sql of a transaction, which cannot listen, and a client that can only query', async () => {
    const sql = Object.assign(() => {}, { unsafe: async () => [{ raised: 1 }] })
    await postgresGuard(sql).check(lease)
    await postgresGuard({ query: async () => ({ rows: [{ raised: 1 }] }) }).check(lease)
  })

  it('a guard in Postgres refuses what is not a lease before it runs a statement', async () => {
    const guard = postgresGuard({ query: () => Promise.reject(new Error('ran')) })
    for (const none of [10n, { token: 1n }, Object.create(null)])
      await expect(guard.check(none as never)).rejects.toMatchObject({ code: 'invalid-argument' })
  })
})

describe('a guard in SQLite', () => {
  it.each([
    ['a BigInt', 10n, '10n'],
    ['null', null, 'null'],
    ['a path', './app.db', 'a string'],
    ['an empty object', {}, 'an object'],
  ])('a guard in SQLite refuses %s as its database', (_, database, shown) => {
    expect(() => sqliteGuard(database as never)).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message: `database: expected a database of node:sqlite or better-sqlite3, got ${shown}`,
      }),
    )
  })

  it('a guard in SQLite refuses a database whose statements have no get', () => {
    const foreign = { exec: () => {}, prepare: () => ({ bind: () => {} }), isTransaction: true }
    expect(() => sqliteGuard(foreign as never).check(lease)).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    )
  })

  it.each([true, false])(
    'a guard in SQLite checks only within a transaction, if the database says so: %s',
    (says) => {
      const database = new DatabaseSync(':memory:')
      database.exec(guardTable())
      const older = {
        exec: (sql: string) => database.exec(sql),
        prepare: (sql: string) => database.prepare(sql),
      }
      const guard = sqliteGuard(says ? database : older)
      for (let round = 0; round < 2; round++)
        expect(() => guard.check(lease)).toThrow(
          expect.objectContaining({
            code: 'invalid-argument',
            message: expect.stringMatching(
              /^database: expected a connection with an open transaction, .+guard\.write/,
            ),
          }),
        )
      database.exec('BEGIN')
      guard.check(lease)
      database.exec('COMMIT')
    },
  )

  it('a guard in SQLite commits what the work of write() wrote, and rolls back if it throws or is async', () => {
    const database = new DatabaseSync(':memory:')
    database.exec(`${guardTable()}; CREATE TABLE written (n int)`)
    const written = () =>
      database
        .prepare('SELECT n FROM written')
        .all()
        .map(({ n }) => n)
    const insert = (n: number) => database.prepare('INSERT INTO written VALUES (?)').run(n)
    const guard = sqliteGuard(database)
    expect(guard.write(lease, () => insert(1) && 'result')).toBe('result')
    expect(guard.write(database, lease, (same) => same)).toBe(database)
    const reason = new Error('changed my mind')
    const failing = () => {
      insert(2)
      throw reason
    }
    expect(() => guard.write(lease, failing)).toThrow(reason)
    expect(() => guard.write(lease, async () => insert(3))).toThrow(
      'work: expected a function that is not async, got a Promise',
    )
    expect(() => guard.write({ ...lease, token: 6 }, () => insert(4))).toThrow('token 6 of r is refused')
    expect(written()).toEqual([1])
    expect(database.isTransaction).toBe(false)
    database.exec('BEGIN')
    expect(() => guard.write(lease, () => {})).toThrow(
      'database: expected one without an open transaction; in one of your own, check(lease) before you write',
    )
    expect(database.isTransaction).toBe(true)
  })

  it('says which token is newer, whatever the options of the database are', () => {
    const database = new DatabaseSync(':memory:', { readBigInts: true, returnArrays: true })
    database.exec(guardTable())
    const guard = sqliteGuard(database)
    database.exec('BEGIN')
    guard.check({ resource: 'r', token: 2, id: 'b' })
    expect(() => guard.check({ resource: 'r', token: 1, id: 'a' })).toThrow('a newer lease, with token 2')
  })

  it('a guard in SQLite uses only plain placeholders: better-sqlite3 takes numbered ones for names', () => {
    const database = new DatabaseSync(':memory:')
    database.exec(guardTable())
    const likeBetterSqlite3: SqliteDatabase & { readonly inTransaction: boolean } = {
      exec: (sql) => database.exec(sql),
      // Its name for the property `isTransaction`.
      get inTransaction() {
        return database.isTransaction
      },
      prepare(sql) {
        if (/[?$:@]\w/.test(sql)) throw new RangeError('Too many parameter values were provided')
        return database.prepare(sql)
      },
    }
    const guard = sqliteGuard(likeBetterSqlite3)
    expect(() => guard.check(lease)).toThrow('a connection with an open transaction')
    database.exec('BEGIN')
    guard.check(lease)
    guard.check({ ...lease, token: 8 })
    expect(() => guard.check(lease)).toThrow('the guard has seen a newer lease, with token 8')
  })
})

describe('a fenced update', () => {
  it('a fenced update has a condition for the placeholders of every client', () => {
    expect(fenceAllows('$2', '$3')).toBe('(fence < $2 OR (fence = $2 AND fence_id = $3))')
    expect(() => fenceAllows(2 as never, '$3')).toThrow('token: expected a non-empty string, got 2')
  })

  it('a fenced update is refused if it changed no row', () => {
    for (const changed of [1, 2n]) expectWritten(lease, changed)
    for (const changed of [0, 0n, null])
      expect(() => expectWritten(lease, changed)).toThrow(
        expect.objectContaining({ code: 'stale-token', retryable: false, resource: 'r' }),
      )
  })

  it.each([undefined, '1', { changes: 1 }, Symbol('one')])(
    'needs the number of changed rows: case %#',
    (changed) => {
      expect(() => expectWritten(lease, changed as never)).toThrow(
        expect.objectContaining({
          code: 'invalid-argument',
          message: expect.stringMatching('^changedRows: expected how many rows the update has changed, got '),
        }),
      )
    },
  )
})
