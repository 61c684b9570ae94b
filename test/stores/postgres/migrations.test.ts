import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { migratePostgres, postgresStore } from '../../../src/stores/postgres/index.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

let bed: Bed
beforeEach(async () => {
  bed = await makeBed(url)
})
afterEach(() => bed[Symbol.asyncDispose]())

const ask = (resource = 'r') => ({ resource, id: crypto.randomUUID(), owner: 'Mika', ttl: 60_000 })

describe('the migration of a Postgres store', () => {
  it('runs once when twenty nodes start at the same moment', async () => {
    const stores = Array.from({ length: 20 }, () => bed.store())
    const answers = await Promise.all(stores.map((store) => store.acquire(ask())))
    expect(answers.filter((answer) => answer.granted)).toHaveLength(1)
  })

  it('runs once when the connections are serializable by default', async () => {
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
  ])('accepts the name %s for schema and table', async (name) => {
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

  it('finds the schema by the search path', async () => {
    await bed.admin.query(`create schema ${bed.schema}`)
    const pool = bed.pool({ options: `-c search_path=${bed.schema}` })
    const store = postgresStore(pool)
    expect(await store.acquire(ask())).toMatchObject({ granted: true })
    expect((await bed.admin.query(`select from ${bed.table}`)).rowCount).toBe(1)
    await store.close()
  })

  it('refuses tables of a newer version, and says what to do', async () => {
    await bed.store().read([])
    await bed.admin.query(`update ${bed.table}_meta set version = 99`)
    const store = bed.store()
    for (let call = 0; call < 2; call++)
      await expect(store.acquire(ask())).rejects.toMatchObject({
        code: 'store-failed',
        message: expect.stringContaining('is of version 99, and this holdfast knows 1: update the package'),
      })
  })

  it('does not run if migrate is false', async () => {
    const early = bed.store({ migrate: false })
    await expect(early.read(['r'])).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('call migratePostgres first'),
    })
    await migratePostgres(bed.pool(), { schema: bed.schema })
    expect(await bed.store({ migrate: false }).acquire(ask())).toMatchObject({ granted: true })
  })

  it('is tried again by the next call after a connection problem', async () => {
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

  it('gets an error that says which right is missing', async () => {
    const store = bed.storeOn(bed.pool({ connectionString: connection }))
    await expect(store.acquire(ask())).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringMatching(
        /may not create .* grant it CREATE on the schema, or call migratePostgres/,
      ),
      cause: expect.objectContaining({ code: '42501' }),
    })
  })

  it('needs no restart once it was given the right', async () => {
    const store = bed.storeOn(bed.pool({ connectionString: connection }))
    await expect(store.acquire(ask())).rejects.toMatchObject({ code: 'store-failed' })
    await bed.admin.query(`grant create on schema ${bed.schema} to ${role}`)
    expect(await store.acquire(ask())).toMatchObject({ granted: true })
  })

  it('can use tables that another role created', async () => {
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
