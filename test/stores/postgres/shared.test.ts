/** Leases that are shared or keep the resource have rows of their own. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { literal } from '../../../src/clients/sql-text.ts'
import type { LeaseStore } from '../../../src/core/index.ts'
import { installScript } from '../../../src/stores/postgres/install-script.ts'
import { namesOf } from '../../../src/stores/postgres/names.ts'
import { asking, grab } from '../asking.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env
const READERS = 1000

let bed: Bed
let store: LeaseStore
let admin: pg.Client
beforeEach(async () => {
  bed = await makeBed(url)
  admin = bed.admin
  store = bed.store()
})
afterEach(() => bed[Symbol.asyncDispose]())

interface Cost {
  readonly written: number
  readonly hot: number
  readonly scans: number
}

/** The rows that one call writes and the scans that it makes, by table. */
async function costOf(call: string): Promise<Record<string, Cost>> {
  const read = async () => {
    const { rows } = await admin.query(`select replace(relname, 'holdfast_leases', '') as name,
      (n_tup_ins + n_tup_upd + n_tup_del)::integer as written, n_tup_hot_upd::integer as hot,
      (seq_scan + coalesce(idx_scan, 0))::integer as scans
      from pg_stat_xact_user_tables where schemaname = '${bed.schema}'`)
    return new Map<string, Cost>(rows.map(({ name, ...cost }) => [name, cost]))
  }
  // They include what the session has not reported yet.
  const before = await read()
  await admin.query(`select ${bed.table}_${call}`)
  const costs: Record<string, Cost> = {}
  for (const [name, { written, hot, scans }] of await read()) {
    const was = before.get(name) ?? { written: 0, hot: 0, scans: 0 }
    if (scans > was.scans)
      costs[name] = { written: written - was.written, hot: hot - was.hot, scans: scans - was.scans }
  }
  return costs
}

const isShared = async (resource: string) =>
  (await admin.query(`select shared from ${bed.table} where resource = $1`, [resource])).rows[0]?.shared

describe('an exclusive lease', () => {
  it('an exclusive lease costs one update in place for a grant, a renewal and a release, and no look at shared leases', async () => {
    const { id } = await grab(store, 'r')
    await store.release({ resource: 'r', id })
    for (const call of [
      `acquire('r', 'a', 'Mika', 60000, null, 'c', false, null)`,
      `renew('r', 'a', 60000)`,
      `release('r', 'a', null)`,
    ]) {
      await admin.query('begin')
      const { '': leases, ...others } = await costOf(call)
      await admin.query('commit')
      expect(leases).toMatchObject({ written: 1, hot: 1 })
      expect(others).toEqual({ _meta: { written: 0, hot: 0, scans: 1 } })
    }
  })

  it('an exclusive lease is simple again when the last shared lease has ended and nobody waits', async () => {
    const reader = await grab(store, 'r', { share: 2 })
    const writer = asking('r', { wake: () => {} })
    await store.acquire(writer)
    expect(await isShared('r')).toBe(true)
    await store.release({ resource: 'r', id: reader.id })
    expect(await store.acquire(writer)).toMatchObject({ granted: true })
    expect(await isShared('r')).toBe(true)
    await store.release({ resource: 'r', id: writer.id })
    expect(await isShared('r')).toBe(false)
  })
})

describe('a resource with a thousand readers', () => {
  beforeEach(async () => {
    await grab(store, 'r', { share: Infinity })
    await admin.query(`insert into ${bed.table}_shared
      select 'r', token + n, 'reader ' || n, owner, metadata, share, acquired_at, expires_at, span, address
      from ${bed.table}_shared, generate_series(1, ${READERS}) n`)
    await admin.query(`update ${bed.table} set token = token + ${READERS}`)
  })

  it('a resource with a thousand readers writes one lease and the row of the resource for a grant, a renewal and a release', async () => {
    for (const call of [
      `ask('r', 'a', 'Mika', 60000, null, 'c', false, null, false, 5000, null, null)`,
      `renew('r', 'reader 500', 60000)`,
      `release('r', 'reader 500', null)`,
    ]) {
      await admin.query('begin')
      const { '': leases, _shared } = await costOf(call)
      await admin.query('commit')
      expect(leases).toMatchObject({ written: 1, hot: 1 })
      expect(_shared?.written).toBe(1)
    }
  })

  it('a resource with a thousand readers is listed in pages that follow each other', async () => {
    await grab(store, 'q')
    await grab(store, 's')
    const listed: string[] = []
    let after: string | undefined
    do {
      const page = await store.list({ limit: 300, ...(after !== undefined && { after }) })
      listed.push(...page.leases.map(({ resource, token }) => `${resource} ${token}`))
      after = page.next
    } while (after !== undefined)
    expect(listed).toHaveLength(READERS + 3)
    expect(listed).toEqual(listed.toSorted())
    expect((await store.list({ limit: 10, after: 'q' })).leases[0]).toMatchObject({ resource: 'r' })
    expect((await store.list({ limit: 10, after: 'r' })).leases).toMatchObject([{ resource: 's' }])
  })

  it('a resource with a thousand readers tells each expired lease to one sweeper, and to nobody twice', async () => {
    await admin.query(`update ${bed.table}_shared set acquired_at = 0, expires_at = 1, span = 1`)
    const sweepers = Array.from({ length: 4 }, () => bed.store())
    const swept: number[] = []
    while (swept.length <= READERS)
      for (const leases of await Promise.all(sweepers.map((sweeper) => sweeper.sweep({ limit: 100 }))))
        swept.push(...leases.map(({ token }) => token))
    expect(new Set(swept).size).toBe(READERS + 1)
    expect(await isShared('r')).toBe(false)
  })
})

describe('the end of one of several leases', () => {
  it('the end of one of several leases is told to its holder only: a forced release, a steal', async () => {
    const lost: string[] = []
    const hold = (name: string) => grab(store, 'r', { share: 3, lost: () => lost.push(name) })
    // The connection is opened for the waiter.
    const waiter = asking('r', { wake: () => {} })
    const first = await hold('first')
    await store.acquire(waiter)
    await store.release({ resource: 'r', id: waiter.id })
    const [second] = [await hold('second'), await hold('third')]
    await expect.poll(() => bed.listeners()).toBe(1)
    expect(await bed.store().release({ resource: 'r', token: second.token })).toMatchObject({
      ended: { id: second.id },
      holders: [{ id: first.id }, {}],
    })
    await expect.poll(() => lost).toEqual(['second'])
    const thief = await bed.store().acquire(asking('r', { replace: 'any' }))
    expect(thief).toMatchObject({ granted: true, replaced: { state: 'taken-over' } })
    await expect.poll(() => lost).toEqual(['second', 'first', 'third'])
  })

  it('the end of one of several leases wakes all readers behind a writer at once, and puts the next writer on standby', async () => {
    const writer = await grab(store, 'r')
    await bed.stopClock()
    const told = new Map<string, number>()
    const enqueue = async (name: string, share?: number) => {
      const ask = asking('r', { share, wake: (inMs) => told.set(name, inMs) })
      await store.acquire(ask)
      return ask
    }
    const readers = [await enqueue('a', Infinity), await enqueue('b', 2), await enqueue('c', Infinity)]
    await enqueue('next')
    // The connection is open now: waiters that came before it was opened were told to ask again.
    told.clear()
    await store.release({ resource: 'r', id: writer.id })
    await expect.poll(() => Object.fromEntries(told)).toEqual({ a: 0, b: 0, c: 1000 })
    for (const reader of readers.slice(0, 2))
      expect(await store.acquire(reader)).toMatchObject({ granted: true })
    expect(await store.read(['r'])).toMatchObject([[{ share: Infinity }, { share: 2 }]])
    expect(await store.waiting?.({ resources: ['r'], limit: 5 })).toMatchObject([
      {
        count: 2,
        first: [
          { share: Infinity, place: 0 },
          { share: null, place: 1 },
        ],
      },
    ])
  })
})

it('live leases survive that somebody deletes the row of their resource', async () => {
  const { token } = await grab(store, 'r', { share: 2 })
  await admin.query(`delete from ${bed.table}; update ${bed.table}_meta set floor = ${token + 10}`)
  expect(await store.acquire(asking('r'))).toMatchObject({ granted: false, holders: [{ token }] })
  expect(await grab(store, 'r', { share: 2 })).toMatchObject({ share: 2 })
  expect((await store.read(['r']))[0]).toHaveLength(2)
})

describe('a node of version 3', () => {
  const SCHEMA_3 = readFileSync(join(import.meta.dirname, 'schema-3.sql'), 'utf8')
  const acquire = `acquire($1, $2, 'old', 60000, null, '', false, null)`
  beforeEach(() => admin.query(SCHEMA_3.replaceAll('SCHEMA', bed.schema)))

  const call = async (client: pg.Client | pg.Pool, text: string, values: readonly unknown[]) =>
    JSON.parse((await client.query(`select ${bed.table}_${text} as answer`, [...values])).rows[0].answer)

  it('a node of version 3 goes on after the upgrade, and respects shared leases', async () => {
    expect(await call(admin, acquire, ['r', 'old'])).toMatchObject({ granted: true })
    const reader = asking('r', { share: 2, wake: () => {} })
    expect(await store.acquire(reader)).toMatchObject({ granted: false, holders: [{ id: 'old' }], place: 0 })
    expect(await call(admin, `renew('r', $1, 60000)`, ['old'])).toMatchObject({ ok: true })
    expect(await call(admin, `release('r', $1, null)`, ['old'])).toMatchObject({ ended: { id: 'old' } })
    expect(await store.acquire(reader)).toMatchObject({ granted: true })
    expect(await call(admin, acquire, ['r', 'old'])).toMatchObject({
      granted: false,
      holders: [{ id: reader.id }],
    })
    expect(await call(admin, `list('', '', $1)`, [5])).toMatchObject([{ id: reader.id }])
    expect(await call(admin, `list('', 'r', $1)`, [5])).toEqual([])
    expect(await call(admin, `read($1)`, ['["r"]'])).toMatchObject([[{ id: reader.id }]])
  })

  it('a node of version 3 is not granted a lease beside a shared one by a call that began before the upgrade', async () => {
    await call(admin, acquire, ['r', 'old'])
    await call(admin, `release('r', $1, null)`, ['old'])
    await admin.query(`begin; lock table ${bed.table}`)
    const pool = bed.pool()
    const late = call(pool, acquire, ['r', 'late'])
    late.catch(() => {})
    await bed.blocked()
    // The migration, and a reader, in the transaction for which the call waits.
    await admin.query(`do ${literal(installScript(namesOf(bed.schema, 'holdfast_leases')))}`)
    await call(admin, `ask('r', 'reader', 'new', 60000, null, '', false, null, false, 2, null, null)`, [])
    await admin.query('commit')
    await expect(late).rejects.toThrow(/does not exist/)
    expect(await call(pool, acquire, ['r', 'late'])).toMatchObject({ granted: false })
  })
})

describe('requests that are sent in one statement', () => {
  const TEXTS = ['"\'\\', '$1::text', '\u2028😀', '{"a":null}', ' ', "x' end as answer --"]

  it('requests that are sent in one statement keep their texts, metadata and terms', async () => {
    const asks = TEXTS.map((text, n) =>
      asking('odd', { owner: text, metadata: { text, 'nul\0': [null, n / 3] }, share: n % 2 ? Infinity : 9 }),
    )
    const answers = await Promise.all(asks.map((ask) => store.acquire(ask)))
    const granted = answers.map((answer) => answer.granted && answer.lease)
    expect(granted).toMatchObject(
      asks.map(({ id, owner, metadata, share }) => ({ id, owner, metadata, share })),
    )
    expect(await store.read(['odd'])).toMatchObject([asks.map(({ id, owner }) => ({ id, owner }))])
  })

  it('renewals and releases that are sent in one statement change their own leases', async () => {
    const leases = await Promise.all(TEXTS.map((resource) => grab(store, resource, { wake: () => {} })))
    // So that the store listens: on that connection they are sent together.
    await store.acquire(asking(' ', { wake: () => {} }))
    const outcomes = await Promise.all([
      ...leases.map(({ resource, id }) => store.renew({ resource, id, ttl: 600_000 })),
      ...leases.slice(1).map(({ resource, id }) => store.release({ resource, id })),
    ])
    const lives = TEXTS.map((resource) => ({ ok: true, lease: { resource, state: 'held' } }))
    const ends = TEXTS.slice(1).map((resource) => ({ ended: { resource, state: 'released' } }))
    expect(outcomes).toMatchObject([...lives, ...ends])
  })
})
