import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLeases, type LeaseEvent, type LeaseStore } from '../../../src/core/index.ts'
import type { PostgresClient } from '../../../src/stores/postgres/index.ts'
import type { PostgresStoreOptions } from '../../../src/stores/postgres/options.ts'
import { eventually } from '../../eventually.ts'
import { HANG_MS } from '../../hang-limit.ts'
import { asking, grab } from '../asking.ts'
import { type Bed, makeBed } from './bed.ts'
import { type Pooler, startPgbouncer } from './pgbouncer.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

let pooler: Pooler
let bed: Bed
beforeAll(async () => {
  pooler = await startPgbouncer(url)
})
afterAll(() => pooler[Symbol.asyncDispose]())
beforeEach(async () => {
  bed = await makeBed(url)
})
afterEach(() => bed[Symbol.asyncDispose]())

const pooled = (options = {}) => bed.storeOn(bed.pool({ connectionString: pooler.url }), options)

describe('behind PgBouncer in transaction mode', () => {
  it('waiters poll if there is no listen, and get their turns in order', async () => {
    const leases = createLeases(pooled(), { wait: HANG_MS })
    const others = createLeases(pooled(), { wait: HANG_MS })
    const holder = await leases.acquire('r')
    // So that no waiter loses its turn because its poll was late.
    await bed.stopClock()
    const order: number[] = []
    const turns = []
    for (const n of [0, 1, 2]) {
      turns.push((n % 2 ? leases : others).withLease('r', async () => order.push(n)))
      await expect.poll(() => bed.waiters()).toBe(n + 1)
    }
    // Longer than the waiters wait for a connection on which they could be woken.
    await sleep(1000)
    await holder.release()
    await Promise.all(turns)
    expect(order).toEqual([0, 1, 2])
    await Promise.all([leases.close(), others.close()])
  })

  it('watch fails without listen, and says what is missing', async () => {
    const store = pooled()
    await eventually(() =>
      expect(store.watch(() => {})).rejects.toMatchObject({
        code: 'store-failed',
        message: expect.stringContaining('pass a direct one with the option listen'),
      }),
    )
  })

  it('a manager says once that its waiters poll, and why', async () => {
    const errors: string[] = []
    const onEvent = (event: LeaseEvent) => {
      if (event.type === 'error') errors.push(`${event.operation}: ${event.error.message}`)
    }
    const leases = createLeases(pooled(), { wait: HANG_MS, onEvent })
    const held = [await leases.acquire('a'), await leases.acquire('b')]
    const waiting = ['a', 'a', 'b'].map((name) => leases.withLease(name, async () => {}))
    await expect
      .poll(() => errors)
      .toEqual([expect.stringMatching(/^watch: .*a pooler shares the connection/)])
    for (const lease of held) await lease.release()
    await Promise.all(waiting)
    expect(errors).toHaveLength(1)
    await leases.close()
  })

  it('no answer reaches the wrong caller while many calls share few connections', async () => {
    const stores = [pooled(), pooled()]
    const names = Array.from({ length: 40 }, (_, n) => `r${n}`)
    const leases = await Promise.all(names.map((name, n) => grab(stores[n % 2] as LeaseStore, name)))
    const releases = await Promise.all(
      leases.map(({ resource, id }, n) => stores[(n + 1) % 2]?.release({ resource, id })),
    )
    expect(releases.map((release) => release?.ended?.id)).toEqual(leases.map((lease) => lease.id))
  })

  it.each<[string, () => PostgresStoreOptions['listen']]>([
    ['a URL', () => url],
    ['a configuration', () => ({ connectionString: url })],
    ['a Pool', () => bed.pool()],
    ['a Client', () => new pg.Client(url)],
    ['the sql of postgres', () => postgres(url)],
  ])('a direct connection may be given as %s', async (_, listen) => {
    const direct = listen()
    const store = pooled({ listen: direct })
    const seen: string[] = []
    const watch = await store.watch((event) => seen.push(event.type))
    await grab(store, 'r')
    await expect.poll(() => seen).toEqual(['change'])
    await watch[Symbol.asyncDispose]()
    if (typeof direct === 'function') await (direct as postgres.Sql).end()
  })

  it('the sql of postgres works with prepare: false', async () => {
    const sql = postgres(pooler.url, { prepare: false, onnotice: () => {} })
    const direct = postgres(url)
    const leases = createLeases(bed.storeOn(sql, { listen: direct }))
    const metadata = { user: 'Mika', nested: { list: [1, null] } }
    const holder = await leases.acquire('r', { metadata })
    expect(await leases.inspect('r')).toMatchObject({ metadata })
    const waiting = leases.acquire('r', { wait: HANG_MS })
    await expect.poll(() => bed.waiters()).toBe(1)
    await holder.release()
    await (await waiting).release()
    await leases.close()
    await Promise.all([sql.end(), direct.end()])
  })
})

describe('behind PgBouncer in session mode', () => {
  let session: Pooler
  beforeAll(async () => {
    session = await startPgbouncer(url, 'session')
  })
  afterAll(() => session[Symbol.asyncDispose]())

  /** The pooler invents the key of each connection. Half of the invented pids are too high for an integer. */
  const STARTS = 8

  it.each<[string, () => PostgresClient & { end(): Promise<void> }]>([
    ['postgres', () => postgres(session.url, { max: 1, onnotice: () => {} })],
    ['pg', () => new pg.Pool({ connectionString: session.url, max: 1 })],
  ])('no waiter polls at any of several starts of %s', async (_, connect) => {
    await grab(bed.store(), 'r')
    for (let n = 0; n < STARTS; n++) {
      const client = connect()
      const store = bed.storeOn(client)
      const ask = asking('r', { wake: () => {} })
      // A waiter that polls has no pid.
      await eventually(async () => {
        expect(await store.acquire(ask)).toMatchObject({ granted: false })
        const { rows } = await bed.admin.query(
          `select query from ${bed.table}_waiters w join pg_stat_activity using (pid) where w.id = $1`,
          [ask.id],
        )
        expect(rows).toHaveLength(1)
      })
      await store.close()
      await client.end()
    }
  })
})

describe('the statements of pg', () => {
  let pool: pg.Pool
  let store: LeaseStore
  beforeEach(async () => {
    pool = bed.pool({ max: 1 })
    store = bed.storeOn(pool)
    await store.read([])
  })

  const nameOf = (name: string) => `"${bed.schema}"."holdfast_leases_${name}"`
  const prepared = async () => {
    const { rows } = await pool.query('select name, statement from pg_prepared_statements order by name')
    return rows
  }

  it('the statements of pg are prepared once for each connection, under names that stand for their texts', async () => {
    for (const resource of ['a', 'b']) await grab(store, resource)
    const [acquire, read] = [nameOf('acquire'), nameOf('read')]
    expect(await prepared()).toEqual([
      {
        name: `${acquire}/8`,
        statement: expect.stringMatching(/^select \S+\(\$1::text, .*, \$8::bigint\) as answer$/),
      },
      { name: `${read}/1`, statement: `select ${read}($1) as answer` },
    ])
  })

  it('the statements of pg are as many for two requests of a resource at once as for ten', async () => {
    const patient = bed.storeOn(pool, { maxInFlight: 20 })
    for (const count of [2, 10]) {
      const resource = `${count} at once`
      await Promise.all(Array.from({ length: count + 1 }, () => patient.acquire(asking(resource))))
    }
    const names = (await prepared()).map(({ name }) => name)
    expect(names.filter((name) => name.endsWith('"/8+1'))).toHaveLength(1)
  })

  it.each([
    ['lost', () => 'deallocate all'],
    ['already there', () => `prepare "${nameOf('acquire').replaceAll('"', '""')}/8" as select 1`],
  ])('the statements of pg are sent again, without names, after one was %s', async (_, spoil) => {
    await pool.query(spoil())
    const { id } = await grab(store, 'r')
    expect(await store.read(['r'])).toMatchObject([[{ id }]])
    expect(await prepared()).toEqual([])
  })
})
