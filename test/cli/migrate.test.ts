import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { migrateServer } from '../../src/server/index.ts'
import { migratePostgres } from '../../src/stores/postgres/index.ts'
import { browserAt } from '../server/node-client.ts'
import { holdfast, temporaryDirectory } from './holdfast.ts'
import { startServe } from './server.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env
const TABLES = [
  'leases',
  'leases_waiters',
  'leases_shared',
  'leases_meta',
  'documents',
  'audit',
  'secrets',
  'versions',
].map((name) => `holdfast_${name}`)

describe('a role of Postgres that may only use tables', () => {
  let admin: pg.Client
  let role: string
  /** With capital letters, which Postgres folds unless a name is quoted. */
  let schema: string
  /** The addresses of the schema, as the owner of the tables and as the role. */
  let owner: string
  let store: string

  beforeEach(async () => {
    role = `role_${crypto.randomUUID().replaceAll('-', '')}`
    schema = role.toUpperCase()
    admin = new pg.Client(url)
    await admin.connect()
    await admin.query(`create role ${role} login; create schema "${schema}"; set search_path = "${schema}"`)
    const address = new URL(url)
    address.searchParams.set('schema', schema)
    owner = address.href
    address.username = role
    store = address.href
  })
  afterEach(async () => {
    await admin.query(`drop schema "${schema}" cascade; drop owned by ${role}; drop role ${role}`)
    await admin.end()
  })

  it('a role of Postgres that may only use tables runs the whole service after one migration, and sends no DDL', async () => {
    const runs = await Promise.all(
      [1, 2, 3].map(() => holdfast(['migrate', '--store', owner, '--grant', role])),
    )
    for (const { code, stdout, stderr } of runs)
      expect([code, stdout], stderr).toEqual([0, TABLES.map((table) => `${schema}.${table}\n`).join('')])
    // It has no right to create, so every statement that creates something fails.
    const rights = `select has_schema_privilege('${role}', '${schema}', 'create') as creates,
      has_table_privilege('${role}', 'holdfast_documents', 'truncate') as truncates`
    expect((await admin.query(rights)).rows).toEqual([{ creates: false, truncates: false }])

    const doctor = await holdfast(['doctor', store])
    expect([doctor.code, doctor.stdout]).toEqual([0, expect.stringMatching(/✓ documents.*✓ audit.*✓ bus/s)])
    const { url: served } = await startServe(store)
    expect((await fetch(`${served}/readyz`)).status).toBe(200)
    const browser = browserAt(served)
    const { status, body } = await browser.call('POST', '/api/documents/draft/lock')
    expect(status).toBe(200)
    const saved = await browser.call('PUT', '/api/documents/draft', { content: 'text', token: body.token })
    expect(saved.status).toBe(200)
    await expect.poll(async () => (await admin.query('select from holdfast_audit')).rowCount).toBe(1)
    expect((await browser.call('DELETE', '/api/documents/draft/lock')).status).toBe(200)

    await admin.query(`revoke insert on holdfast_documents from ${role}`)
    const readyz = async () => {
      const refused = await fetch(`${served}/readyz`)
      return [refused.status, await refused.json()]
    }
    const failed = { documents: 'store-failed' }
    await expect.poll(readyz).toEqual([503, expect.objectContaining({ error: 'not_ready', failed })])
    await admin.query(`grant insert on holdfast_documents to ${role}`)
    expect((await fetch(`${served}/readyz`)).status).toBe(200)
  })

  it('learns from doctor and serve which tables are missing, and how to create them', async () => {
    await migratePostgres(new pg.Pool({ connectionString: url, max: 1 }), { schema })
    await admin.query(`grant usage on schema "${schema}" to ${role};
      grant select, insert, update, delete on all tables in schema "${schema}" to ${role}`)
    const doctor = await holdfast(['doctor', store])
    expect(doctor).toMatchObject({ code: 1, stdout: expect.stringMatching(/✓ permissions.*✗ documents/s) })
    expect(doctor.stdout).toMatch(/may not create or change it: .*run holdfast migrate/)
    expect(doctor.stdout).toContain('Leases can be used, holdfast serve cannot be run here')
    const served = await holdfast(['serve', '--port', '0', '--store', store])
    expect(served).toMatchObject({ code: 70, stderr: expect.stringMatching(/documents: .*holdfast migrate/) })

    await migrateServer(new pg.Pool({ connectionString: url, max: 1 }), { schema, grantTo: role })
    expect((await holdfast(['doctor', store])).code).toBe(0)
  })
})

describe('holdfast migrate', () => {
  it('holdfast migrate creates a SQLite file with all tables, and can be repeated', async () => {
    const cwd = temporaryDirectory()
    for (let run = 0; run < 2; run++)
      expect(await holdfast(['migrate'], { cwd })).toMatchObject({
        code: 0,
        stderr: 'holdfast: sqlite:./holdfast.db is ready for this version\n',
      })
  })

  it('refuses to grant rights in a store that has none', async () => {
    const refused = await holdfast(['migrate', '--grant', 'app'], { cwd: temporaryDirectory() })
    expect(refused).toMatchObject({
      code: 64,
      stderr: expect.stringMatching(/--grant: expected a store of Postgres/),
    })
  })
})
