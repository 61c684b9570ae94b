/** A role that may not call `pg_stat_get_activity`, which administrators revoke to hide what others do. */
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLeases, type LeaseEvent } from '../../../src/core/index.ts'
import { HANG_MS } from '../../hang-limit.ts'
import { asking, grab } from '../asking.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

/** The function is revoked in this database only. */
const name = `hidden_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`
const admin = new pg.Client(url)
let bed: Bed
beforeAll(async () => {
  await admin.connect()
  await admin.query(`create database ${name}`)
  await admin.query(`create role ${name} login password 'secret'`)
  const address = new URL(url)
  address.pathname = name
  bed = await makeBed(address.href)
  await bed.admin.query('revoke execute on function pg_stat_get_activity(integer) from public')
  await bed.admin.query(`create schema ${bed.schema} authorization ${name}`)
})
afterAll(async () => {
  await bed[Symbol.asyncDispose]()
  await admin.query(`drop database ${name} with (force)`)
  await admin.query(`drop role ${name}`)
  await admin.end()
})

function storeOfRole() {
  const address = new URL(url)
  Object.assign(address, { pathname: name, username: name, password: 'secret' })
  return bed.storeOn(bed.pool({ connectionString: address.href }))
}

it('a release while somebody waits wakes the waiter, which says once that it polls, and why', async () => {
  const events: LeaseEvent[] = []
  const [store, other] = [storeOfRole(), storeOfRole()]
  const leases = createLeases(store, { wait: HANG_MS, onEvent: (event) => events.push(event) })
  const holder = await grab(other, 'r')
  const waiting = leases.acquire('r')
  const errors = () => events.filter((event) => event.type === 'error')
  await expect
    .poll(errors)
    .toMatchObject([
      { operation: 'watch', error: { message: expect.stringContaining('EXECUTE on pg_stat_get_activity') } },
    ])
  await other.release({ resource: 'r', id: holder.id })
  await (await waiting).release()
  expect(errors()).toHaveLength(1)
  await leases.close()
})

it('a waiter of a role that may see processes is skipped after its second', async () => {
  const store = storeOfRole()
  const holder = await grab(store, 'dead')
  await bed.admin.query(
    `select ${bed.table}_acquire('dead', 'ghost', 'ghost', 60000, null, 'channel 1 1', true, null)`,
  )
  await store.release({ resource: 'dead', id: holder.id })
  const ask = asking('dead')
  await expect.poll(() => store.acquire(ask)).toMatchObject({ granted: true })
})
