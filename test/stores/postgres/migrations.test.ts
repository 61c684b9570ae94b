import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LeaseStore } from '../../../src/core/index.ts'
import { inspectPostgres, migratePostgres, postgresStore } from '../../../src/stores/postgres/index.ts'
import { SCHEMA_VERSION } from '../../../src/stores/postgres/install-script.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

let bed: Bed
beforeEach(async () => {
  bed = await makeBed(url)
})
afterEach(() => bed[Symbol.asyncDispose]())

const ask = (resource = 'r') => ({ resource, id: crypto.randomUUID(), owner: 'Mika', ttl: 60_000 })

describe('the migration of a Postgres store', () => {
  it('the migration of a Postgres store runs once when twenty nodes start at the same moment', async () => {
    const stores = Array.from({ length: 20 }, () => bed.store())
    const answers = await Promise.all(stores.map((store) => store.acquire(ask())))
    expect(answers.filter((answer) => answer.granted)).toHaveLength(1)
  })

  it('the migration of a Postgres store notices what another node created while it waited for its turn', async () => {
    // A connection that has migrated before has all catalogs in its cache.
    const pool = bed.pool({ max: 1 })
    await bed.storeOn(pool).read(['r'])
    await bed.admin.query(`drop schema ${bed.schema} cascade`)
    await bed.admin.query(`begin;
      select pg_advisory_xact_lock(hashtext('"${bed.schema}"."holdfast_leases"'), hashtext('holdfast'))`)
    const acquiring = bed.storeOn(pool).acquire(ask())
    acquiring.catch(() => {})
    await bed.blocked()
    await bed.admin.query(`create schema ${bed.schema}; commit`)
    expect(await acquiring).toMatchObject({ granted: true })
  })

  it('the migration of a Postgres store runs once when the connections are serializable by default', async () => {
    const options = '-c default_transaction_isolation=serializable'
    const stores = Array.from({ length: 8 }, () => bed.storeOn(bed.pool({ options })))
    const answers = await Promise.allSettled(stores.map((store) => store.read(['r'])))
    expect(answers.map((answer) => answer.status)).toEqual(stores.map(() => 'fulfilled'))
  })

  it.each([
    `Robert'); drop table "students"; --`,
    `back\\slash 'single' "double" $1`,
    '$holdfast$ $holdfast_$ $$',
    'Größe 界 %I %',
  ])('the migration of a Postgres store accepts the name %s for schema and table', async (name) => {
    const schema = `${bed.schema} ${name}`.slice(-40)
    const store = bed.store({ schema, table: name })
    const { id, resource } = ask(name)
    expect(await store.acquire({ ...ask(), id, resource })).toMatchObject({ granted: true })
    const { leases } = await store.list({ limit: 5 })
    expect(leases.map((lease) => lease.resource)).toEqual([name])
    expect(await store.sweep({ limit: 5 })).toEqual([])
    expect(await store.release({ id, resource })).toMatchObject({ ended: { id } })
    const quoted = `"${schema.replaceAll('"', '""')}"`
    const { rows } = await bed.admin.query('select to_regnamespace($1) is not null as made', [quoted])
    expect(rows).toEqual([{ made: true }])
    await bed.admin.query(`drop schema ${quoted} cascade`)
  })

  it('the migration of a Postgres store finds the schema by the search path', async () => {
    await bed.admin.query(`create schema ${bed.schema}`)
    const pool = bed.pool({ options: `-c search_path=${bed.schema}` })
    const store = postgresStore(pool)
    expect(await store.acquire(ask())).toMatchObject({ granted: true })
    expect((await bed.admin.query(`select from ${bed.table}`)).rowCount).toBe(1)
    await store.close()
  })

  it('the migration of a Postgres store refuses tables of a newer version, and says what to do', async () => {
    await bed.store().read([])
    await bed.admin.query(`update ${bed.table}_meta set version = 99, oldest = 99`)
    const store = bed.store()
    for (let call = 0; call < 2; call++)
      await expect(store.acquire(ask())).rejects.toMatchObject({
        code: 'store-failed',
        message: expect.stringContaining(
          `is of version 99, and this holdfast knows ${SCHEMA_VERSION}: update`,
        ),
      })
  })

  it('the migration of a Postgres store does not run if migrate is false', async () => {
    const early = bed.store({ migrate: false })
    await expect(early.read(['r'])).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('call migratePostgres first'),
    })
    await migratePostgres(bed.pool(), { schema: bed.schema })
    expect(await bed.store({ migrate: false }).acquire(ask())).toMatchObject({ granted: true })
  })

  it('the migration of a Postgres store is tried again by the next call after a connection problem', async () => {
    const pool = bed.pool()
    const { query } = pool
    let failures = 1
    pool.query = ((...args: Parameters<typeof query>) =>
      failures-- > 0
        ? Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
        : Reflect.apply(query, pool, args)) as typeof query
    const store = bed.storeOn(pool)
    await expect(store.acquire(ask())).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
    expect(await store.acquire(ask())).toMatchObject({ granted: true })
  })
})

describe('tables of version 1', () => {
  const OLD = readFileSync(join(import.meta.dirname, 'schema-1.sql'), 'utf8')
  const read = async (text: string) => (await bed.admin.query(text)).rows

  it('tables of version 1 are upgraded with their leases, tokens, waiters and grants', async () => {
    await bed.admin.query(`create schema ${bed.schema}; ${OLD.replaceAll('SCHEMA', bed.schema)}`)
    const { rows } = await bed.admin.query(`select pg_backend_pid() as pid,
      (extract(epoch from backend_start) * 1e6)::bigint::text as started from pg_stat_activity where pid = pg_backend_pid()`)
    const { pid, started } = rows[0]
    const call = (resource: string, id: string, address: string | null) =>
      bed.admin.query(`select ${bed.table}_acquire($1, $2, 'Mika', 60000, '{"n":1}', $3, true, null)`, [
        resource,
        id,
        address,
      ])
    for (const id of ['holder', 'first', 'second']) await call('held', id, `own ${pid} ${started}`)
    await call('held', 'polls', null)
    for (const id of ['holder', 'first', 'second']) await call('reserved', id, `own ${pid} ${started}`)
    await bed.admin.query(`select ${bed.table}_release('reserved', 'holder', null)`)
    await bed.admin.query(`update ${bed.table}_meta set floor = 7`)
    const tokens = await read(`select resource, token from ${bed.table} order by resource`)
    const role = `role_${bed.schema}`
    await bed.admin.query(`create role ${role};
      grant select, insert, update on ${bed.table} to ${role}; grant select on ${bed.table}_meta to public`)

    const stores = Array.from({ length: 8 }, () => bed.store())
    const read1 = await Promise.all(stores.map((store) => store.read(['held'])))
    for (const [leases] of read1) expect(leases?.[0]).toMatchObject({ id: 'holder', metadata: { n: 1 } })
    expect(await read(`select resource, token from ${bed.table} order by resource`)).toEqual(tokens)
    expect(await read(`select version, floor from ${bed.table}_meta`)).toEqual([
      { version: SCHEMA_VERSION, floor: '7' },
    ])
    expect(
      await read(`select resource, id, pid, reserved_until is not null as reserved from ${bed.table}_waiters
        order by resource, place`),
    ).toEqual([
      { resource: 'held', id: 'first', pid, reserved: false },
      { resource: 'held', id: 'second', pid, reserved: false },
      { resource: 'held', id: 'polls', pid: null, reserved: false },
      { resource: 'reserved', id: 'first', pid, reserved: true },
      { resource: 'reserved', id: 'second', pid, reserved: false },
    ])
    const [privileges] =
      await read(`select has_table_privilege('${role}', '${bed.table}_waiters', 'insert') as writes,
      has_table_privilege('${role}', '${bed.table}_waiters', 'delete') as deletes`)
    expect(privileges).toEqual({ writes: true, deletes: false })
    await bed.admin.query(`drop owned by ${role}; drop role ${role}`)

    const [store] = stores as [LeaseStore]
    await store.release({ resource: 'held', id: 'holder' })
    const asked = { ...ask('held'), wake: () => {} }
    expect(await store.acquire({ ...asked, id: 'second' })).toMatchObject({ granted: false, place: 1 })
    expect(await store.acquire({ ...asked, id: 'first' })).toMatchObject({ granted: true })
  })
})

describe('tables and functions that somebody dropped', () => {
  const drops = [
    ['the leases', (table: string) => `drop table ${table} cascade`],
    ['the waiters', (table: string) => `drop table ${table}_waiters cascade`],
    ['the shared leases', (table: string) => `drop table ${table}_shared cascade`],
    ['the meta table', (table: string) => `drop table ${table}_meta cascade`],
    ['the row of the meta table', (table: string) => `delete from ${table}_meta`],
    ['a function', (table: string) => `drop function ${table}_settle`],
    ['the schema', (table: string) => `drop schema ${table.split('.')[0]} cascade`],
  ] as const

  it.each(drops)('tables and functions that somebody dropped are created again: %s', async (_, drop) => {
    const running = bed.store()
    const before = await running.acquire(ask())
    await bed.admin.query(drop(bed.table))
    for (const store of [running, bed.store()]) {
      const waiting = { ...ask('fresh'), wake: () => {} }
      const held = await store.acquire(ask('fresh'))
      expect(await store.acquire(waiting)).toMatchObject({ granted: false, place: 0 })
      if (held.granted) await store.release({ resource: 'fresh', id: held.lease.id })
      const next = await store.acquire(waiting)
      const [was, is] = [before, next].map((answer) => (answer.granted ? answer.lease.token : 0))
      expect(is).toBeGreaterThan(was as number)
      await store.release({ resource: 'fresh', id: waiting.id })
      const readers = [1, 2].map(() => ({ ...ask('shared'), share: Infinity }))
      for (const reader of readers) expect(await store.acquire(reader)).toMatchObject({ granted: true })
      for (const { id } of readers) await store.release({ resource: 'shared', id })
    }
  })

  it.each(drops.slice(0, 4))(
    'tables and functions that somebody dropped are named if migrate is false: %s',
    async (_, drop) => {
      const running = bed.store()
      await running.acquire(ask())
      const careful = bed.store({ migrate: false })
      await careful.read(['r'])
      await bed.admin.query(drop(bed.table))
      expect(await inspectPostgres(bed.pool(), { schema: bed.schema })).toMatchObject({ state: 'damaged' })
      for (const store of [careful, bed.store({ migrate: false })])
        await expect(store.acquire(ask('other'))).rejects.toMatchObject({
          code: 'store-failed',
          message: expect.stringMatching(/holdfast_leases.* does not exist, .*call migratePostgres first/),
        })
    },
  )
})

it('the docs say how to uninstall', async () => {
  await bed.store().acquire(ask())
  const page = readFileSync(join(import.meta.dirname, '../../../docs/stores/postgres.md'), 'utf8')
  const [, script = ''] = /To uninstall.*?```sql\n(.*?)```/s.exec(page) ?? []
  await bed.admin.query(`set search_path = ${bed.schema}`)
  await bed.admin.query(script.replace(`'public'`, `'${bed.schema}'`))
  const left = `select from pg_class where relnamespace = '${bed.schema}'::regnamespace
    union all select from pg_proc where pronamespace = '${bed.schema}'::regnamespace`
  expect((await bed.admin.query(left)).rowCount).toBe(0)
})

describe('a role without the right to create', () => {
  let role: string
  let connection: string
  beforeEach(async () => {
    role = `role_${bed.schema}`
    await bed.admin.query(
      `create role ${role} login; create schema ${bed.schema}; grant usage on schema ${bed.schema} to ${role}`,
    )
    const address = new URL(url)
    address.username = role
    connection = address.href
  })
  afterEach(async () => {
    await bed.admin.query(`drop owned by ${role}; drop role ${role}`)
  })

  it('a role without the right to create gets an error that says which right is missing', async () => {
    const store = bed.storeOn(bed.pool({ connectionString: connection }))
    await expect(store.acquire(ask())).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringMatching(
        /holdfast_leases" does not exist, and this role may not create .* grant it CREATE on the schema, or call migratePostgres/,
      ),
      cause: expect.objectContaining({ code: '42501' }),
    })
  })

  it('a role without the right to create needs no restart once it was given the right', async () => {
    const store = bed.storeOn(bed.pool({ connectionString: connection }))
    await expect(store.acquire(ask())).rejects.toMatchObject({ code: 'store-failed' })
    await bed.admin.query(`grant create on schema ${bed.schema} to ${role}`)
    expect(await store.acquire(ask())).toMatchObject({ granted: true })
  })

  it('a role without the right to create can use tables that another role created', async () => {
    await migratePostgres(bed.pool(), { schema: bed.schema })
    const pool = bed.pool({ connectionString: connection })
    const refused = bed.storeOn(pool, { migrate: false })
    await expect(refused.acquire(ask())).rejects.toMatchObject({ code: 'store-failed' })
    await bed.admin.query(
      `grant select, insert, update, delete on all tables in schema ${bed.schema} to ${role}`,
    )
    const store = bed.storeOn(pool, { migrate: false })
    expect(await store.acquire(ask())).toMatchObject({ granted: true })
  })
})
