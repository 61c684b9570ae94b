import { afterEach, describe, expect, it, vi } from 'vitest'
import type { LeaseStore } from '../../../src/core/index.ts'
import { Queries } from '../../../src/stores/sqlite/queries.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { asking, grab } from '../asking.ts'
import { DatabaseFile } from './database-file.ts'

afterEach(() => void vi.restoreAllMocks())

const waiting = (id: string) => ({ ...asking('r', { wake: () => {} }), id })

async function enqueue(store: LeaseStore, count: number): Promise<unknown[]> {
  const places: unknown[] = []
  for (let n = 0; n < count; n++) places.push(await store.acquire(waiting(`w${n}`)))
  return places.map((answer) => (answer as { place: number }).place)
}

describe('a long queue in SQLite', () => {
  it('a long queue in SQLite is not read as a whole to join it, to ask again, to leave it or to hand the lease over', async () => {
    await using file = new DatabaseFile()
    const store = file.store({ clock: new FakeClock() })
    const readAll = vi.spyOn(Queries.prototype, 'waiters')
    let { id } = await grab(store, 'r')
    expect(await enqueue(store, 300)).toEqual(Array.from({ length: 300 }, (_, n) => n))
    for (const n of [0, 2, 3, 4, 70, 299]) {
      const retryIn = expect.any(Number)
      expect(await store.acquire(waiting(`w${n}`))).toMatchObject({ granted: false, place: n, retryIn })
    }
    for (let n = 0; n < 10; n++) {
      await store.release({ resource: 'r', id })
      expect(await store.acquire(waiting(`w${n + 1}`))).toMatchObject({ granted: false, place: 1 })
      expect(await store.acquire(waiting(`w${n}`))).toMatchObject({ granted: true })
      id = `w${n}`
    }
    await store.release({ resource: 'r', id: 'w20' })
    expect(await store.acquire(waiting('w30'))).toMatchObject({ granted: false, place: 19 })
    expect(readAll).not.toHaveBeenCalled()
    expect(file.count('holdfast_leases_waiters')).toBe(289)
  })

  it('a long queue in SQLite learns when a lease that another process has released keeps the resource no longer', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const [store, other] = [file.store({ clock }), file.store({ clock })]
    const { id } = await grab(store, 'r', { atLeast: 1500 })
    const wakes: number[] = []
    await other.acquire(asking('r', { wake: (inMs) => wakes.push(inMs) }))
    await clock.advance(500)
    await store.release({ resource: 'r', id })
    await clock.advance(20)
    expect(wakes.at(-1)).toBe(990)
  })

  it('a long queue in SQLite is upgraded from the column that contained it', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const { id } = await grab(file.store({ clock }), 'r')
    await grab(file.store({ clock }), 'damaged')
    const db = file.connect()
    const queue = (line: object[]) => JSON.stringify({ line, reserved: null })
    const line = queue(['a', 'b', 'c'].map((id) => ({ id, channel: id })))
    db.exec(`DROP TABLE holdfast_leases_waiters; ALTER TABLE holdfast_leases DROP COLUMN leases;
      UPDATE holdfast_leases_meta SET version = 2;
      UPDATE holdfast_leases SET line = CASE resource WHEN 'r' THEN '${line}' ELSE 'malformed' END`)
    const store = file.store({ clock })
    expect(await store.acquire(waiting('b'))).toMatchObject({ granted: false, place: 1 })
    await store.release({ resource: 'r', id })
    expect(await store.acquire(waiting('b'))).toMatchObject({ granted: false, place: 1 })
    expect(await store.acquire(waiting('a'))).toMatchObject({ granted: true })
    await expect(store.acquire(asking('damaged'))).rejects.toMatchObject({ code: 'store-failed' })
  })

  it('a long queue in SQLite keeps its reservation when it is upgraded from the version with one lease', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const old = file.store({ clock })
    const { id } = await grab(old, 'r')
    await old.acquire(waiting('a'))
    await old.acquire(waiting('b'))
    await old.release({ resource: 'r', id })
    file.connect().exec(`ALTER TABLE holdfast_leases DROP COLUMN leases;
      ALTER TABLE holdfast_leases_waiters DROP COLUMN share;
      UPDATE holdfast_leases SET line = json_set(line, '$.reserved', json(line -> '$.reserved[0]'));
      UPDATE holdfast_leases_meta SET version = 3`)
    const store = file.store({ clock })
    expect(await store.acquire(asking('r'))).toMatchObject({ granted: false, holders: [] })
    expect(await store.acquire(waiting('b'))).toMatchObject({ granted: false, place: 1 })
    expect(await store.acquire(waiting('a'))).toMatchObject({ granted: true, lease: { share: null } })
  })

  it('a long queue in SQLite forgets waiters that an earlier queue left behind', async () => {
    await using file = new DatabaseFile()
    const store = file.store({ clock: new FakeClock() })
    const { id } = await grab(store, 'r')
    await enqueue(store, 5)
    file.connect().exec('UPDATE holdfast_leases SET line = NULL')
    expect(await store.acquire(waiting('new'))).toMatchObject({ granted: false, place: 0 })
    await store.release({ resource: 'r', id })
    expect(await store.acquire(waiting('new'))).toMatchObject({ granted: true })
  })
})
