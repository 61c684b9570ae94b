import { describe, expect, it } from 'vitest'
import type { Renewal } from '../../../src/core/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { asking, granted } from '../asking.ts'
import { DatabaseFile } from './database-file.ts'

const MANY = 1000

describe('renewals that are sent together', () => {
  it('renewals that are sent together take few commits, and each has its own answer', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const db = file.connect()
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    const commits = countCommits(db)
    const store = sqliteStore(db, { clock })
    for (let n = 0; n < MANY; n++) granted(await store.acquire(asking(`r${n}`, { id: `id${n}`, ttl: 1000 })))
    granted(await store.acquire(asking('expired', { id: 'late', ttl: 100 })))
    db.exec(`UPDATE holdfast_leases SET metadata = 'no JSON' WHERE resource = 'r7'`)
    await clock.advance(500)

    const before = commits()
    const asks = [
      ...Array.from({ length: MANY }, (_, n) => ({ resource: `r${n}`, id: `id${n}` })),
      { resource: 'r1', id: 'somebody else' },
      { resource: 'none', id: 'x' },
      { resource: 'expired', id: 'late' },
    ]
    const answers = await Promise.allSettled(asks.map((ask) => store.renew({ ...ask, ttl: 2000 })))
    expect(commits() - before).toBeLessThanOrEqual(3)

    const [damaged, ...others] = answers.splice(7, 1).concat(answers)
    expect(damaged).toMatchObject({ status: 'rejected', reason: { code: 'store-failed', resource: 'r7' } })
    const values = others.map((answer) => (answer as PromiseFulfilledResult<Renewal>).value)
    const [foreign, none, late] = values.splice(-3)
    for (const value of values) expect(value).toMatchObject({ ok: true, lease: { remaining: 2000 } })
    expect(foreign).toMatchObject({ ok: false, holders: [{ id: 'id1' }] })
    expect([none, late]).toEqual([
      { ok: false, holders: [] },
      { ok: false, holders: [] },
    ])
  })
})

function countCommits(db: { exec(sql: string): unknown }): () => number {
  let count = 0
  const exec = db.exec.bind(db)
  db.exec = (sql) => {
    if (sql === 'COMMIT') count++
    return exec(sql)
  }
  return () => count
}
