/** Statements that take several rows: each waits for a row only while it has none that comes after it. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { LeaseStore } from '../../../src/core/index.ts'
import { migratePostgres } from '../../../src/stores/postgres/index.ts'
import { asking, grab } from '../asking.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

let bed: Bed
let store: LeaseStore
beforeEach(async () => {
  bed = await makeBed(url)
  store = bed.store()
  await store.read([])
})
afterEach(() => bed[Symbol.asyncDispose]())

const lockRow = (resource: string) =>
  `select from ${bed.table} where resource = '${resource}' for no key update nowait`

it.each([
  ['exclusive', {}],
  ['shared', { share: 2 }],
])('holders are registered in the order of batches: %s leases', async (_, how) => {
  const leases = [await grab(store, 'b', how), await grab(store, 'a', how)]
  const { admin, table } = bed
  // In a small table the planner may find the rows in this order by chance.
  await admin.query(`insert into ${table} (resource, token, ended_at) select 'r' || n, 0, 0
    from generate_series(1, 10000) n; analyze ${table}`)
  await admin.query(`begin; ${lockRow('a')}`)
  const pool = bed.pool()
  const holders = JSON.stringify(leases.map(({ resource, id }) => ({ resource, id })))
  const registering = pool.query(`select ${table}_hear($1, 'channel 1 1') as lost`, [holders])
  await bed.blocked()
  await pool.query(lockRow('b'))
  await pool.query(`select from ${table}_shared where resource = 'b' for no key update nowait`)
  await admin.query('commit')
  expect((await registering).rows).toEqual([{ lost: '[]' }])
})

it('several requests take their rows in the order of batches, and clean up when they have all of them', async () => {
  const { admin, table } = bed
  for (const resource of ['b', 'c', 'old']) {
    const { id } = await grab(store, resource)
    await store.release({ resource, id })
  }
  await admin.query(`update ${table} set ended_at = 0, token = 1 where resource = 'old';
    update ${table}_meta set pruned_at = 0`)
  await admin.query(`begin; ${lockRow('b')}`)
  const asks = ['c', 'b', 'a'].map((resource) => asking(resource))
  const acquiring = store.acquireAll?.(asks)
  await bed.blocked()
  // It has created the row of `a`, but neither locked `c` nor deleted `old`.
  const pool = bed.pool()
  for (const resource of ['c', 'old']) await pool.query(lockRow(resource))
  await admin.query('commit')
  expect((await acquiring)?.map(({ lease }) => lease.resource)).toEqual(['c', 'b', 'a'])
  expect((await admin.query(`select from ${table} where resource = 'old'`)).rowCount).toBe(0)
})

it('a sweep changes no lease of a resource that another call has locked', async () => {
  await grab(store, 'r', { share: 2 })
  const { admin, table } = bed
  // The clock stepped back by an hour.
  await admin.query(`update ${table}_shared set expires_at = expires_at + 3600000000`)
  const ahead = `select from ${table}_shared where expires_at - span > extract(epoch from now()) * 1e6 + 60e6`
  await admin.query(`begin; ${lockRow('r')}`)
  expect(await store.sweep({ limit: 5 })).toEqual([])
  expect((await admin.query(ahead)).rowCount).toBe(1)
  await admin.query('commit')
  await store.sweep({ limit: 5 })
  expect((await admin.query(ahead)).rowCount).toBe(0)
})

it('two sessions that use a new resource first, and one that cleans up, do not block each other', async () => {
  const { admin, table } = bed
  const { token, id } = await grab(store, 'old')
  await store.release({ resource: 'old', id })
  await admin.query(`update ${table} set ended_at = 0, token = 1; update ${table}_meta set pruned_at = 0`)
  // It deletes the row of `old`, and keeps the locks of its transaction.
  const ask = (resource: string) =>
    `select ${table}_acquire('${resource}', 'x', 'Mika', 60000, null, '', false, null)`
  await admin.query(`begin; ${ask('new')}`)
  expect(await store.acquire(asking('other'))).toMatchObject({ granted: true })
  expect(await store.sweep({ limit: 5 })).toEqual([])
  const [second, revived] = [store.acquire(asking('new')), store.acquire(asking('old'))]
  for (const call of [second, revived]) call.catch(() => {})
  await expect.poll(blockedCalls).toBe(2)
  await admin.query('commit')
  expect(await second).toMatchObject({ granted: false, holders: [{ id: 'x' }] })
  const answer = await revived
  expect(answer.granted && answer.lease.token).toBeGreaterThan(token)
})

it('an upgrade waits for the transactions that use the tables, and they do not wait for it', async () => {
  const { admin, table } = bed
  const { id } = await grab(store, 'r', { share: 2 })
  await admin.query(`update ${table}_meta set version = 1`)
  await admin.query(`begin; ${lockRow('r')}`)
  const upgrades = [bed.pool(), bed.pool()].map((pool) => migratePostgres(pool, { schema: bed.schema }))
  for (const upgrade of upgrades) upgrade.catch(() => {})
  await bed.blocked()
  const { rows } = await admin.query(`select ${table}_release('r', $1, null) as answer`, [id])
  expect(JSON.parse(rows[0].answer)).toMatchObject({ ended: { id } })
  await admin.query('commit')
  await Promise.all(upgrades)
  expect(await store.acquire(asking('r'))).toMatchObject({ granted: true })
})

async function blockedCalls(): Promise<number> {
  const { rowCount } = await bed.admin.query(
    'select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))',
  )
  return rowCount ?? 0
}
