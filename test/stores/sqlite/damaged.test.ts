import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createLeases, type LeaseStore } from '../../../src/core/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { asking, failure, granted } from '../asking.ts'
import { DatabaseFile } from './database-file.ts'

describe('a file that cannot be used', () => {
  it.each([
    [
      'is not a database',
      'not a database',
      (path: string) => writeFileSync(path, 'no database '.repeat(999)),
    ],
    ['has no directory', 'directory exists', () => {}],
  ])('a file that cannot be used that %s fails the call and says what to do', async (_, advice, spoil) => {
    await using file = new DatabaseFile()
    const path = advice === 'directory exists' ? join(file.path, 'missing', 'leases.db') : file.path
    spoil(path)
    const store = sqliteStore(path)
    const error = await failure(store.acquire(asking('a')))
    expect(error).toMatchObject({ code: 'store-failed', retryable: false })
    expect(error.message).toContain(advice)
    expect(error.message).toContain(path)
    await store.close()
  })

  it('a file that cannot be used is tried again by the next call', async () => {
    await using file = new DatabaseFile()
    writeFileSync(file.path, 'no database '.repeat(999))
    const store = file.store()
    await failure(store.acquire(asking('a')))
    writeFileSync(file.path, '')
    granted(await store.acquire(asking('a')))
  })

  it('a file that cannot be used whose pages were overwritten fails the call and says what to do', async () => {
    await using file = new DatabaseFile()
    const before = file.store()
    granted(await before.acquire(asking('a')))
    await before.close()
    const pages = readFileSync(file.path)
    writeFileSync(file.path, pages.fill(0xff, 4096))
    const error = await failure(file.store().acquire(asking('a')))
    expect(error).toMatchObject({
      code: 'store-failed',
      message: expect.stringMatching(/malformed.*restore/),
    })
  })

  it('a file that cannot be used of a newer version is not changed, and fails the call', async () => {
    await using file = new DatabaseFile()
    const store = file.store()
    granted(await store.acquire(asking('a')))
    file.connect().exec('UPDATE holdfast_leases_meta SET version = 99')
    for (const one of [store, file.store()])
      for (const call of [
        one.acquire(asking('a', { wake: () => {} })),
        one.acquire(asking('new')),
        one.renew({ resource: 'a', id: 'a', ttl: 100 }),
        one.sweep({ limit: 1 }),
      ].map(failure))
        expect(await call).toMatchObject({
          code: 'store-failed',
          message: expect.stringContaining('version 99'),
        })
  })

  it('a file that cannot be used that has lost its version grants nothing', async () => {
    await using file = new DatabaseFile()
    const store = file.store()
    granted(await store.acquire(asking('a')))
    file.connect().exec('DELETE FROM holdfast_leases_meta')
    for (const one of [store, file.store()])
      expect(await failure(one.acquire(asking('new')))).toMatchObject({
        code: 'store-failed',
        message: expect.stringContaining('restore'),
      })
  })

  it('a file that cannot be used that is full is retryable', async () => {
    await using file = new DatabaseFile()
    const db = file.connect()
    const store = sqliteStore(db)
    granted(await store.acquire(asking('before')))
    const { page_count: pages } = db.prepare('PRAGMA page_count').get() as { page_count: number }
    db.exec(`PRAGMA max_page_count = ${pages}`)
    const metadata = { text: 'x'.repeat(pages * 4096) }
    const error = await failure(store.acquire(asking('large', { metadata })))
    expect(error).toMatchObject({ code: 'store-unavailable', retryable: true })
    db.exec('PRAGMA max_page_count = 100000')
    granted(await store.acquire(asking('large', { metadata })))
  })
})

describe.each([
  ['a queue that is not JSON', `line = '[{'`, 'line'],
  ['a queue of another version', `line = '{"waiters":[]}'`, 'line'],
  ['a process that is not text', `line = '{"reserved":null,"processes":{"c":1}}'`, 'line'],
  ['a reservation without an end', `line = '{"reserved":{"id":"x"}}'`, 'line'],
  ['metadata that is not JSON', `metadata = 'Mika'`, 'metadata'],
  ['metadata that is not an object', `metadata = '[1]'`, 'metadata'],
  ['a lease without an owner', 'owner = NULL', 'id'],
])('a row with %s', (_, damage, column) => {
  async function damaged(file: DatabaseFile, clock: FakeClock): Promise<LeaseStore> {
    const store = file.store({ clock })
    granted(await store.acquire(asking('damaged', { id: 'held', ttl: 1000 })))
    granted(await store.acquire(asking('sound', { ttl: 1000 })))
    file.connect().exec(`UPDATE holdfast_leases SET ${damage} WHERE resource = 'damaged'`)
    return store
  }

  it('is reported and grants nothing, before and after its lease has expired', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const store = await damaged(file, clock)
    for (const ms of [0, 2000]) {
      await clock.advance(ms)
      for (const call of [
        store.acquire(asking('damaged')),
        store.acquire(asking('damaged', { wake: () => {} })),
        store.renew({ resource: 'damaged', id: 'held', ttl: 1000 }),
        store.release({ resource: 'damaged', id: 'other' }),
      ].map(failure))
        expect(await call).toMatchObject({
          code: 'store-failed',
          resource: 'damaged',
          message: expect.stringContaining(`column ${column}`),
        })
    }
  })

  it('is skipped where many rows are read, with one warning', async () => {
    await using file = new DatabaseFile()
    const warnings: string[] = []
    const onWarning = ({ message }: Error) => warnings.push(message)
    process.on('warning', onWarning)
    const clock = new FakeClock()
    const store = await damaged(file, clock)
    expect(await store.read(['damaged', 'sound'])).toMatchObject([[], [{ resource: 'sound' }]])
    expect(await store.list({ limit: 10 })).toMatchObject({ leases: [{ resource: 'sound' }] })
    await clock.advance(2000)
    process.off('warning', onWarning)
    expect(warnings).toEqual([expect.stringContaining('the row of damaged')])
  })

  it('does not prevent a sweep of other rows', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const store = await damaged(file, clock)
    await clock.advance(2000)
    const swept = [...(await store.sweep({ limit: 1 })), ...(await store.sweep({ limit: 1 }))]
    expect(swept).toMatchObject([{ resource: 'sound', state: 'expired' }])
  })

  it('fails the calls that wait for it', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const store = file.store({ clock })
    const leases = createLeases(store, { clock })
    granted(await store.acquire(asking('damaged')))
    const waiting = failure(leases.acquire('damaged', { wait: 60_000 }))
    await clock.advance(100)
    file.connect().exec(`UPDATE holdfast_leases SET ${damage} WHERE resource = 'damaged'`)
    await clock.advance(100)
    expect(await waiting).toMatchObject({ code: 'store-failed', resource: 'damaged' })
  })

  it('can be repaired as the error says', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const store = await damaged(file, clock)
    await clock.advance(2000)
    file.connect().exec(`UPDATE holdfast_leases SET ${column} = NULL WHERE resource = 'damaged'`)
    granted(await store.acquire(asking('damaged')))
  })
})
