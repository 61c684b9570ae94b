/** Settings of a server, a role or a client that applications and administrators use. Leases must not depend on them. */
import type pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createLeases } from '../../../src/core/index.ts'
import { HANG_MS } from '../../hang-limit.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

let bed: Bed
beforeEach(async () => {
  bed = await makeBed(url)
})
afterEach(() => bed[Symbol.asyncDispose]())

/** The settings of a connection, or what its type parsers return. */
const SETTINGS: Record<string, pg.PoolConfig> = {
  'default_transaction_isolation = serializable': {
    options: '-c default_transaction_isolation=serializable',
  },
  'default_transaction_isolation = repeatable read': {
    options: '-c default_transaction_isolation=repeatable\\ read',
  },
  'an empty search_path': { options: '-c search_path=' },
  'standard_conforming_strings = off': {
    options: '-c standard_conforming_strings=off -c escape_string_warning=off',
  },
  'a statement_timeout of four seconds': { options: '-c statement_timeout=4000' },
  'a lock_timeout and an idle timeout': {
    options: '-c lock_timeout=2000 -c idle_in_transaction_session_timeout=1000',
  },
  'another time zone and style of dates': {
    options: '-c timezone=Asia/Kathmandu -c datestyle=German -c intervalstyle=iso_8601',
  },
  'synchronous_commit = off': { options: '-c synchronous_commit=off' },
  'row_security = off': { options: '-c row_security=off' },
  'parsers that return everything as text': {
    types: { getTypeParser: () => (text: unknown) => text } as never,
  },
  'parsers that return BigInt and Date': {
    types: {
      getTypeParser: (oid: number) => {
        if ([20, 21, 23].includes(oid)) return (text: string) => BigInt(text)
        return oid === 114 || oid === 1114 ? (text: string) => new Date(text) : (text: string) => text
      },
    } as never,
  },
}

it.each(Object.entries(SETTINGS))('leases work with %s', async (_, config) => {
  const open = () => createLeases(bed.storeOn(bed.pool(config)), { wait: HANG_MS })
  const [leases, others] = [open(), open()]
  const changes: string[] = []
  const watch = await others.watch({}, ({ type }) => changes.push(type))
  const quoted = `it's "a" \\ name`
  const lease = await leases.acquire(quoted, { metadata: { text: quoted } })
  expect(await others.inspect(quoted)).toMatchObject({ id: lease.id, metadata: { text: quoted } })
  const order: number[] = []
  const waiting = []
  for (const n of [1, 2, 3]) {
    waiting.push((n % 2 ? leases : others).withLease(quoted, async () => order.push(n)))
    await expect.poll(async () => (await leases.waiting(quoted)).length).toBe(n)
  }
  await lease.renew()
  await lease.release()
  await Promise.all(waiting)
  expect(order).toEqual([1, 2, 3])
  // Together in one statement: the answers must reach their callers.
  const readers = await Promise.all(Array.from({ length: 20 }, () => leases.acquire('shared', { share: 20 })))
  expect(new Set(readers.map(({ token }) => token)).size).toBe(20)
  expect(await others.holders('shared')).toHaveLength(20)
  await Promise.all(readers.map((reader) => reader.release()))
  const all = await leases.acquireAll(['a', 'b'])
  expect(await others.list()).toMatchObject({ leases: [{ resource: 'a' }, { resource: 'b' }] })
  await all.release()
  await expect.poll(() => changes.filter((type) => type === 'released').length).toBeGreaterThanOrEqual(20)
  await watch.close()
  await Promise.all([leases.close(), others.close()])
})

it('a session that may only read is told what to change, and reads', async () => {
  await bed.store().check?.()
  const store = bed.storeOn(bed.pool({ options: '-c default_transaction_read_only=on' }))
  const acquiring = store.acquire({ resource: 'r', id: 'id', owner: 'Mika', ttl: 1000 })
  await expect(acquiring).rejects.toMatchObject({
    code: 'store-unavailable',
    message: expect.stringContaining('default_transaction_read_only'),
  })
  expect(await store.read(['r'])).toEqual([[]])
})
