import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLeases, type Lease, type LeaseStore } from '../../../src/core/index.ts'
import { HANG_MS } from '../../hang-limit.ts'
import { asking, grab } from '../asking.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env
const HOUR_US = 3_600_000_000

let bed: Bed
let store: LeaseStore
let admin: pg.Client
beforeEach(async () => {
  bed = await makeBed(url)
  admin = bed.admin
  store = bed.store()
  await store.read([])
})
afterEach(() => bed[Symbol.asyncDispose]())

const rowsLeft = async () => (await admin.query(`select from ${bed.table}`)).rowCount

describe('a grant after a long wait for the row', () => {
  const ttl = 60_000

  /** Ends the transaction that locks the row. Resolves with the server's time right before. */
  async function letGo(end: string): Promise<number> {
    await bed.blocked()
    const { rows } = await admin.query('select extract(epoch from clock_timestamp()) * 1000 as ms')
    await admin.query(end)
    return Math.floor(rows[0].ms)
  }

  it.each(['commit', 'rollback'])('counts from the moment when it got the lock, after a %s', async (end) => {
    const { id } = await grab(store, 'locked')
    await store.release({ resource: 'locked', id })
    await admin.query('begin')
    await admin.query(`select from ${bed.table} for update`)
    const asked = store.acquire(asking('locked', { ttl }))
    const freeAt = await letGo(end)
    expect(await asked).toMatchObject({ granted: true, lease: { remaining: ttl } })
    expect((await store.read(['locked']))[0]?.[0]?.expiresAt).toBeGreaterThanOrEqual(freeAt + ttl)
  })

  it('counts from the moment when it got the lock, also if another transaction created the row', async () => {
    await admin.query('begin')
    await admin.query(`insert into ${bed.table} (resource, token, ended_at) values ('new', 0, 0)`)
    const asked = store.acquire(asking('new', { ttl }))
    const freeAt = await letGo('rollback')
    expect(await asked).toMatchObject({ granted: true, lease: { remaining: ttl } })
    expect((await store.read(['new']))[0]?.[0]?.expiresAt).toBeGreaterThanOrEqual(freeAt + ttl)
  })
})

describe('many rows', () => {
  it('many rows are listed in pages of at most 1000, whatever the limit', async () => {
    await admin.query(`insert into ${bed.table} (resource, token, id, owner, acquired_at, expires_at, span, ended_at)
      select 'r' || n, n, n, 'Mika', 0, 4e15, 4e15, 0 from generate_series(1, 1500) n`)
    const page = await store.list({ limit: 2 ** 40 })
    expect(page.leases).toHaveLength(1000)
    expect((await createLeases(store).list({ limit: 2 ** 40 })).leases).toHaveLength(1500)
  })
})

describe('connections that are serializable by default', () => {
  it('connections that are serializable by default have one holder at a time, and rising tokens', async () => {
    const options = '-c default_transaction_isolation=serializable'
    const managers = [1, 2, 3].map(() => createLeases(bed.storeOn(bed.pool({ options }))))
    const tokens: number[] = []
    let inside = 0
    const work = async ({ token }: Lease) => {
      expect(++inside).toBe(1)
      tokens.push(token)
      await sleep(1)
      inside--
    }
    await Promise.all(
      managers.flatMap((leases) => [1, 2, 3, 4].map(() => leases.withLease('r', work, { wait: HANG_MS }))),
    )
    expect(tokens).toHaveLength(12)
    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b))
    await Promise.all(managers.map((leases) => leases.close()))
  })
})

describe('a row that nobody needs', () => {
  const age = (hours: number) =>
    admin.query(`update ${bed.table} set ended_at = ended_at - $1::bigint, token = token - $1::bigint`, [
      hours * HOUR_US,
    ])

  it('a row that nobody needs is deleted by a sweep after an hour, and its token is never used again', async () => {
    const { id, token } = await grab(store, 'old')
    await store.release({ resource: 'old', id })
    await age(0.9)
    await store.sweep({ limit: 10 })
    expect(await rowsLeft()).toBe(1)
    await age(0.2)
    await store.sweep({ limit: 10 })
    expect(await rowsLeft()).toBe(0)
    const ahead = token + 24 * HOUR_US
    await admin.query(`update ${bed.table}_meta set floor = $1 where floor > 0`, [ahead])
    expect((await grab(store, 'old')).token).toBe(ahead + 1)
  })

  it('a row that nobody needs raises the floor to its own token', async () => {
    const { id } = await grab(store, 'old')
    await store.release({ resource: 'old', id })
    await age(2)
    const { rows } = await admin.query(`select token from ${bed.table}`)
    await store.sweep({ limit: 10 })
    expect((await admin.query(`select floor as token from ${bed.table}_meta`)).rows).toEqual(rows)
  })

  it('a row that nobody needs is deleted without a sweep when the table grows', async () => {
    const { id } = await grab(store, 'old')
    await store.release({ resource: 'old', id })
    await age(2)
    await admin.query(`update ${bed.table}_meta set pruned_at = 0`)
    await grab(store, 'new')
    expect((await admin.query(`select resource from ${bed.table}`)).rows).toEqual([{ resource: 'new' }])
  })

  it('a row that nobody needs is kept while somebody holds it or waits for it, or its expiry was not reported yet', async () => {
    await grab(store, 'held')
    await grab(store, 'expired', { ttl: 10 })
    await store.acquire(asking('held', { wake: () => {} }))
    await age(2)
    await admin.query(`update ${bed.table}_meta set pruned_at = 0`)
    await grab(store, 'new')
    expect(await rowsLeft()).toBe(3)
  })
})

describe('a corrupt row', () => {
  it.each([`id = null`, `expires_at = null`, `metadata = '[]'`])(
    'is reported and never grants: %s',
    async (damage) => {
      const { id, token } = await grab(store, 'damaged')
      await grab(store, 'sound')
      await admin.query(`update ${bed.table} set ${damage} where resource = 'damaged'`)
      for (const call of [
        () => store.acquire(asking('damaged')),
        () => store.acquire(asking('damaged', { replace: token })),
        () => store.renew({ resource: 'damaged', id, ttl: 1000 }),
      ])
        await expect(call()).rejects.toMatchObject({ code: 'store-failed', resource: 'damaged' })
      const { leases } = await store.list({ limit: 10 })
      expect(leases.map((lease) => lease.resource)).toEqual(['sound'])
      expect(await store.read(['damaged', 'sound'])).toMatchObject([[], [{ resource: 'sound' }]])
    },
  )

  it('a corrupt row is named in the error, which says what to do', async () => {
    await grab(store, `Mika's`)
    await admin.query(`update ${bed.table} set owner = null`)
    await expect(store.acquire(asking(`Mika's`))).rejects.toThrow(
      /the row of 'Mika''s' in .*holdfast_leases" is corrupt; Mend or delete it when/,
    )
  })

  it('a corrupt row does not stop a sweep of the others', async () => {
    for (const name of ['damaged', 'sound']) await grab(store, name, { ttl: 10 })
    await admin.query(`update ${bed.table} set owner = null where resource = 'damaged'`)
    await sleep(20)
    expect(await store.sweep({ limit: 10 })).toMatchObject([{ resource: 'sound', state: 'expired' }])
  })
})

describe('the commit', () => {
  /** The value of `synchronous_commit` with which one call commits, if the connection has another one. */
  async function commitOf(call: string, setting: 'on' | 'off', ...values: unknown[]): Promise<unknown> {
    await admin.query(`begin; set local synchronous_commit = ${setting}`)
    await admin.query(`select ${bed.table}_${call}`, values)
    const { rows } = await admin.query('show synchronous_commit')
    await admin.query('commit')
    return rows[0].synchronous_commit
  }
  const acquire = (id: string) => [`acquire('r', $1, 'Mika', 60000, null, null, true, null)`, id] as const

  it('the commit of a grant or a renewal waits for the disk, whatever the connection says', async () => {
    const [call, id] = acquire('a')
    expect(await commitOf(call, 'off', id)).toBe('on')
    expect(await commitOf(`renew('r', $1, 60000)`, 'off', id)).toBe('on')
  })

  it('the commit of a release or of a place in the queue does not wait for the disk', async () => {
    const [call, id] = acquire('a')
    expect(await commitOf(call, 'on', id)).toBe('on')
    expect(await commitOf(call, 'on', 'b')).toBe('off')
    expect(await commitOf(`release('r', $1, null)`, 'on', id)).toBe('off')
    expect((await admin.query('show synchronous_commit')).rows).toEqual([{ synchronous_commit: 'on' }])
  })

  it('the commit of several calls waits for the disk if one of them must', async () => {
    const [call, id] = acquire('a')
    await commitOf(call, 'on', id)
    const renewal = `renew('r', 'a', 60000)`
    const release = `release('other', 'b', null)`
    expect(await commitOf(`${renewal}, ${bed.table}_${release}`, 'on')).toBe('on')
    expect(await commitOf(`${release}, ${bed.table}_${renewal}`, 'on')).toBe('on')
    expect(await commitOf(release, 'on')).toBe('off')
  })

  it('waits for the disk when it reports an expired lease', async () => {
    await admin.query(`select ${bed.table}_acquire('r', 'a', 'Mika', 10, null, null, true, null)`)
    await sleep(20)
    expect(await commitOf(`release('r', 'a', null)`, 'on')).toBe('on')
    expect(await commitOf(`sweep(10)`, 'on')).toBe('on')
  })
})
