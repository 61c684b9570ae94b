import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type DocumentStore, migrateServer, postgresDocuments } from '../../src/server/index.ts'
import { sqliteDocuments } from '../../src/server/node/index.ts'
import { SCHEMA_VERSION } from '../../src/stores/postgres/install-script.ts'
import { type Bed, makeBed } from '../stores/postgres/bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env
const REFUSED = {
  code: 'store-failed',
  message: expect.stringMatching(/version 3, and this holdfast knows 2: update/),
}

interface Place {
  open(): DocumentStore
  run(sql: string): Promise<unknown>
  tables(): Promise<readonly string[]>
  readonly prefix: string
}

describe.each([
  ['SQLite', onSqlite],
  ['Postgres', onPostgres],
])('the version of a table of contents on %s', (_, openPlace) => {
  let place: Place
  beforeEach(async () => {
    place = await openPlace()
  })
  afterEach(() => vi.restoreAllMocks())
  const grant = { token: 5, holder: 'Mika' }
  const raise = (oldest: number) =>
    place.run(`update ${place.prefix}holdfast_versions set version = 3, oldest = ${oldest}`)

  it('is recorded when the table is created, also by ten nodes at once', async () => {
    const raised = await Promise.all(
      Array.from({ length: 10 }, (_, n) => place.open().fence('draft', { token: n, holder: 'Mika' })),
    )
    expect(raised).toContain(true)
    expect(await place.tables()).toEqual(['holdfast_documents', 'holdfast_versions'])
  })

  it('is the first one if none is recorded, and is then upgraded with its contents, also by ten nodes at once', async () => {
    await place.run(`create table ${place.prefix}holdfast_documents (room text primary key not null,
      fence bigint not null, holder text not null, content text, token bigint, saved_at bigint)`)
    await place.run(
      `insert into ${place.prefix}holdfast_documents values ('draft', 5, 'Mika', '"old"', 5, 1)`,
    )
    const nodes = Array.from({ length: 10 }, place.open)
    const read = await Promise.all(nodes.map((documents) => documents.read('draft')))
    expect(read.map((document) => document?.content)).toEqual(nodes.map(() => 'old'))
    const [documents] = nodes
    expect(await documents?.save('draft', grant, 'new', { sequence: 2 })).toMatchObject({ saved: true })
    expect(await documents?.save('draft', grant, 'late', { sequence: 1 })).toEqual({
      saved: false,
      sequence: 2,
    })
    await documents?.check?.()
    expect(await place.tables()).toEqual(['holdfast_documents', 'holdfast_versions'])
  })

  it('lets nodes of the first version go on, whose grants begin a new sequence', async () => {
    const documents = place.open()
    await documents.fence('draft', grant)
    await documents.save('draft', grant, 'first', { sequence: 9 })
    // As the first version raises a fence and saves.
    await place.run(`update ${place.prefix}holdfast_documents set fence = 6, holder = 'Aki'`)
    await place.run(`update ${place.prefix}holdfast_documents set content = '"old"', token = fence`)
    const next = { token: 6, holder: 'Aki' }
    expect(await documents.save('draft', next, 'second', { sequence: 1 })).toMatchObject({ saved: true })
  })

  it('may be newer if the newer one says so, and the operator is told once', async () => {
    const warnings = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const running = place.open()
    await running.fence('draft', grant)
    await raise(1)
    await running.check?.()
    for (const documents of [running, place.open(), place.open()])
      expect(await documents.save('draft', grant, 'text')).toMatchObject({ saved: true })
    const told = warnings.mock.calls.filter(([message]) => String(message).includes(place.prefix))
    expect(told).toEqual([
      [expect.stringMatching(/version 3.*Both work together; update/), 'HoldfastWarning'],
    ])
  })

  it('ends all writes if it is too new, also of a node that runs', async () => {
    const running = place.open()
    await running.fence('draft', grant)
    await raise(3)
    await expect(running.check?.()).rejects.toMatchObject(REFUSED)
    for (const documents of [running, place.open()])
      await expect(documents.save('draft', grant, 'text')).rejects.toMatchObject(REFUSED)
  })

  it('is not brought back by a node that no longer finds its table', async () => {
    const running = place.open()
    await running.fence('draft', grant)
    await raise(1)
    await place.run(`alter table ${place.prefix}holdfast_documents rename to holdfast_contents`)
    await expect(running.save('draft', grant, 'text')).rejects.toMatchObject({ code: 'store-failed' })
    for (const documents of [running, place.open()])
      await expect(documents.save('draft', grant, 'text')).rejects.toMatchObject(REFUSED)
    expect(await place.tables()).toEqual(['holdfast_contents', 'holdfast_versions'])
  })
})

describe('the version of the leases on Postgres', () => {
  let bed: Bed
  beforeEach(async () => {
    bed = await makeBed(url)
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    await bed[Symbol.asyncDispose]()
  })
  const ask = () => ({ resource: 'r', id: crypto.randomUUID(), owner: 'Mika', ttl: 60_000 })
  const newer = SCHEMA_VERSION + 1
  const raise = (oldest: number) =>
    bed.admin.query(`update ${bed.table}_meta set version = ${newer}, oldest = ${oldest}`)

  it('the version of the leases on Postgres may be newer if the newer one says so, and is not lowered', async () => {
    const warnings = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const running = bed.store()
    await running.read(['r'])
    await raise(SCHEMA_VERSION)
    await running.check?.()
    for (const store of [running, bed.store()]) {
      const asked = ask()
      expect(await store.acquire(asked)).toMatchObject({ granted: true })
      await store.release({ resource: 'r', id: asked.id })
    }
    expect((await bed.admin.query(`select version from ${bed.table}_meta`)).rows).toEqual([
      { version: newer },
    ])
    const told = warnings.mock.calls.filter(([message]) => String(message).includes(bed.schema))
    expect(told).toHaveLength(1)
  })

  it('the version of the leases on Postgres ends all grants if it is too new, also of a node that runs', async () => {
    const running = bed.store()
    await running.acquire(ask())
    await raise(newer)
    const refused = {
      code: 'store-failed',
      message: expect.stringContaining(`version ${newer}, and this holdfast knows ${SCHEMA_VERSION}`),
    }
    await expect(running.check?.()).rejects.toMatchObject(refused)
    for (const store of [running, bed.store()])
      await expect(store.acquire(ask())).rejects.toMatchObject(refused)
  })

  it('the version of the leases on Postgres keeps an older node from repairing what a newer version has removed', async () => {
    const running = bed.store()
    await running.acquire(ask())
    await raise(SCHEMA_VERSION)
    await bed.admin.query(`drop function ${bed.table}_renew`)
    const refused = {
      code: 'store-failed',
      message: expect.stringMatching(/_renew does not exist.*newer version/),
    }
    for (const store of [running, bed.store()])
      await expect(store.renew({ ...ask() })).rejects.toMatchObject(refused)
    const left = `select from pg_proc where pronamespace = '${bed.schema}'::regnamespace and proname like '%\\_renew'`
    expect((await bed.admin.query(left)).rowCount).toBe(0)
  })
})

it('a migration of tables that the first version created needs no other table, and grants all of them', async () => {
  const bed = await makeBed(url)
  onTestFinished(() => bed[Symbol.asyncDispose]())
  const role = `role_${bed.schema}`
  const { schema } = bed
  await bed.admin.query(`create role ${role}; create schema ${schema};
    create table ${schema}.holdfast_documents (room text primary key not null, fence bigint not null,
      holder text not null, content text, token bigint, saved_at bigint);
    create table ${schema}.holdfast_audit (number bigint generated always as identity primary key,
      resource text not null, entry text not null);
    create table ${schema}.holdfast_secrets (name text primary key not null, secret text not null)`)
  onTestFinished(async () => void (await bed.admin.query(`drop owned by ${role}; drop role ${role}`)))
  const { tables } = await migrateServer(bed.pool(), { schema, grantTo: role })
  for (const table of tables) {
    const rights = `select has_table_privilege('${role}', '${table}', 'delete') as deletes`
    expect([table, (await bed.admin.query(rights)).rows]).toEqual([table, [{ deletes: true }]])
  }
})

async function onSqlite(): Promise<Place> {
  const database = new DatabaseSync(':memory:')
  onTestFinished(() => database.close())
  const find = database.prepare(`select name from sqlite_schema where type = 'table' order by name`)
  return {
    open: () => sqliteDocuments(database),
    run: async (sql) => database.exec(sql),
    tables: async () => find.all().map(({ name }) => String(name)),
    prefix: '',
  }
}

async function onPostgres(): Promise<Place> {
  const bed = await makeBed(url)
  onTestFinished(() => bed[Symbol.asyncDispose]())
  await bed.admin.query(`create schema ${bed.schema}`)
  return {
    open: () => postgresDocuments(bed.pool({ max: 1 }), { table: `${bed.schema}.holdfast_documents` }),
    run: (sql) => bed.admin.query(sql),
    tables: async () => {
      const found = await bed.admin.query(`select table_name from information_schema.tables
        where table_schema = '${bed.schema}' order by table_name`)
      return found.rows.map((row) => row.table_name)
    },
    prefix: `${bed.schema}.`,
  }
}
