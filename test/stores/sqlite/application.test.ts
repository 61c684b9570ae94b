import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { LeaseError } from '../../../src/core/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { asking, failure, granted } from '../asking.ts'
import { DatabaseFile } from './database-file.ts'

describe('a connection of the application', () => {
  it('a connection of the application keeps its settings, its version and its data, and stays open', async () => {
    await using file = new DatabaseFile()
    const db = file.connect({ timeout: 7 })
    db.exec('PRAGMA user_version = 42; PRAGMA synchronous = OFF; CREATE TABLE own (x)')
    const store = sqliteStore(db)
    granted(await store.acquire(asking('a')))
    await store.close()
    const pragma = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]
    expect(['user_version', 'synchronous', 'busy_timeout', 'journal_mode'].map(pragma)).toEqual([
      42,
      0,
      7,
      'delete',
    ])
    expect(db.prepare('SELECT count(*) AS n FROM own').get()).toEqual({ n: 0 })
  })

  it('a connection of the application may return big integers and arrays', async () => {
    await using file = new DatabaseFile()
    const store = sqliteStore(file.connect({ readBigInts: true, returnArrays: true }))
    const lease = granted(await store.acquire(asking('a')))
    expect(await store.read(['a'])).toMatchObject([[{ id: lease.id, token: lease.token }]])
    await using _ = await store.watch(() => {})
    expect(await store.release({ resource: 'a', id: lease.id })).toMatchObject({ ended: { id: lease.id } })
  })

  it('a connection of the application grants nothing within a transaction that may be rolled back', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const db = file.connect()
    const store = sqliteStore(db, { clock })
    const first = granted(await store.acquire(asking('a', { lost: () => {} })))
    db.exec('BEGIN')
    const grant = store.acquire(asking('b'))
    const release = store.release({ resource: 'a', id: first.id })
    await clock.advance(500)
    db.exec('ROLLBACK')
    await clock.advance(500)
    granted(await grant)
    expect(await release).toMatchObject({ ended: { id: first.id } })
    const rows = db.prepare('SELECT resource FROM holdfast_leases WHERE id IS NOT NULL').all()
    expect(rows).toEqual([{ resource: 'b' }])
  })

  it('a connection of the application makes calls wait for its open transaction, also the first call, which creates the tables', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const db = file.connect()
    const store = sqliteStore(db, { clock })
    for (const call of [() => store.read(['a']), () => store.acquire(asking('a'))]) {
      db.exec('BEGIN')
      let isDone = false
      const waiting = call().then((answer) => {
        isDone = true
        return answer
      })
      await clock.advance(3000)
      expect(isDone).toBe(false)
      db.exec('COMMIT')
      await clock.advance(100)
      await waiting
      expect(isDone).toBe(true)
    }
    expect(await store.read(['a'])).toMatchObject([[{ resource: 'a' }]])
  })

  it('a connection of the application whose transaction stays open fails calls in a way that may be retried, and the message says why', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const db = file.connect()
    const store = sqliteStore(db, { clock })
    const transactionIsOpen = {
      code: 'store-unavailable',
      retryable: true,
      message: expect.stringContaining('the application has a transaction open'),
    }
    const expectRefused = async (calls: Promise<unknown>[]) => {
      const failures = calls.map(failure)
      await clock.advance(4500)
      for (const error of await Promise.all(failures)) expect(error).toMatchObject(transactionIsOpen)
    }
    db.exec('BEGIN')
    await expectRefused([store.read(['a']), store.acquire(asking('a'))])
    db.exec('COMMIT')
    const { id } = granted(await store.acquire(asking('a')))
    db.exec('BEGIN')
    await expectRefused([
      store.acquire(asking('b')),
      store.renew({ resource: 'a', id, ttl: 600_000 }),
      store.release({ resource: 'a', id: 'other' }),
      store.sweep({ limit: 1 }),
      store.watch(() => {}),
    ])
    expect(await store.read(['a'])).toMatchObject([[{ id }]])
    db.exec('ROLLBACK')
    granted(await store.acquire(asking('b')))
  })

  it('a connection of the application that the application has closed gives an error that says so', async () => {
    const db = new DatabaseSync(':memory:')
    const store = sqliteStore(db)
    granted(await store.acquire(asking('a')))
    db.close()
    expect(await failure(store.acquire(asking('b')))).toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('the application has closed this connection'),
    })
  })

  it('a connection of the application may be in memory', async () => {
    const store = sqliteStore(':memory:')
    granted(await store.acquire(asking('a')))
    expect(await store.acquire(asking('a'))).toMatchObject({ granted: false })
    await store.close()
  })
})

describe('one file', () => {
  it('one file can contain the tables of several stores and of the application', async () => {
    await using file = new DatabaseFile()
    file.connect().exec('PRAGMA user_version = 42; CREATE TABLE own (x)')
    const stores = [file.store(), file.store({ table: 'other' }), file.store({ table: 'Select' })]
    for (const store of stores) granted(await store.acquire(asking('a')))
    expect(file.connect().prepare('PRAGMA user_version').get()).toEqual({ user_version: 42 })
  })
})

const FOREIGN = [undefined, null, 10n, Symbol('x'), {}, Object.create(null), { exec() {} }] as never[]

const bad: readonly (readonly [option: string, open: () => unknown])[] = [
  ['pathOrDatabase', () => sqliteStore('')],
  ...FOREIGN.map((foreign) => ['pathOrDatabase', () => sqliteStore(foreign)] as const),
  ...[null, 10n, 'x'].map((foreign) => ['options', () => sqliteStore('x', foreign as never)] as const),
  ...[null, 10n, {}].map((clock) => ['clock', () => sqliteStore('x', { clock: clock as never })] as const),
  ['table', () => sqliteStore(':memory:', { table: 'a"; DROP TABLE x; --' })],
  ['table', () => sqliteStore(':memory:', { table: 'sqlite_leases' })],
  ['table', () => sqliteStore(':memory:', { table: '' })],
  ['table', () => sqliteStore(':memory:', { table: 10n as never })],
  ['synchronous', () => sqliteStore(':memory:', { synchronous: 'off' as 'full' })],
  ['synchronous', () => sqliteStore(':memory:', { synchronous: Symbol('x') as never })],
  ['synchronous', () => sqliteStore(new DatabaseSync(':memory:'), { synchronous: 'full' })],
]

describe('bad arguments', () => {
  it.each(bad)('bad arguments are refused at once: %s', (option, open) => {
    expect(open).toThrow(LeaseError)
    expect(open).toThrow(option)
  })
})
