/**
 * Every part of Holdfast on each SQL server, as a role that may do exactly what the pages say: what
 * `holdfast migrate --grant` gives it, and select, insert, update and delete on the application's own tables.
 */
import { createPool, type Pool as MysqlPool } from 'mysql2/promise'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLeases, type LeaseStore } from '../../src/core/index.ts'
import { guardTable, mysqlGuard, mysqlGuardTable, postgresGuard } from '../../src/guard/index.ts'
import { createOnce, type JobStore, mysqlJobs, postgresJobs } from '../../src/once/index.ts'
import {
  type AuditLog,
  type Bus,
  type DocumentStore,
  mysqlAudit,
  mysqlBus,
  mysqlDocuments,
  postgresAudit,
  postgresBus,
  postgresDocuments,
} from '../../src/server/index.ts'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { HANG_MS } from '../hang-limit.ts'
import { browserAt } from '../server/node-client.ts'
import { holdfast } from './holdfast.ts'
import { startServe } from './server.ts'

const { HOLDFAST_TEST_POSTGRES_URL: postgresUrl = '', HOLDFAST_TEST_MYSQL_URL: mysqlUrl = '' } = process.env

interface Place {
  /** The address of the store, as the owner of the tables and as the role. */
  readonly owner: string
  readonly role: string
  /** As `--grant` takes it. */
  readonly grantee: string
  /** Creates a table of the application, and lets the role use it. */
  create(table: string, statement: string): Promise<void>
  revoke(right: string, table: string): Promise<void>
  /** The parts, as the role. */
  open(): Promise<Parts>
}

interface Parts {
  readonly store: LeaseStore
  readonly documents: DocumentStore
  readonly audit: AuditLog
  readonly bus: Bus
  readonly jobs: JobStore
  guard(lease: { resource: string; id: string; token: number }): Promise<void>
  readonly guardTable: string
  createsTable(): Promise<unknown>
}

const newName = () => `least_${crypto.randomUUID().replaceAll('-', '').slice(0, 20)}`

async function onMysql(): Promise<Place> {
  const name = newName()
  const admin: MysqlPool = createPool({ uri: mysqlUrl, connectionLimit: 2 })
  await admin.query(`create database ${name}`)
  await admin.query(`create user ${name}@'%' identified by 'secret'`)
  const address = new URL(mysqlUrl)
  address.pathname = name
  const owner = address.href
  Object.assign(address, { username: name, password: 'secret' })
  onTestFinished(async () => {
    await admin.query(`drop database ${name}`)
    await admin.query(`drop user ${name}@'%'`)
    await admin.end()
  })
  return {
    owner,
    role: address.href,
    grantee: name,
    async create(table, statement) {
      const own = createPool(owner)
      if (statement) await own.query(statement)
      else await mysqlJobs(own, { table }).add('first')
      await own.end()
      await admin.query(`grant select, insert, update, delete on ${name}.${table} to ${name}@'%'`)
    },
    revoke: async (right, table) => {
      await admin.query(`revoke ${right} on ${name}.${table} from ${name}@'%'`)
    },
    async open() {
      const pool = createPool(address.href)
      onTestFinished(() => pool.end())
      return {
        store: mysqlStore(pool),
        documents: mysqlDocuments(pool),
        audit: mysqlAudit(pool),
        bus: mysqlBus(pool),
        jobs: mysqlJobs(pool),
        guardTable: mysqlGuardTable(),
        async guard(lease) {
          const connection = await pool.getConnection()
          await connection.beginTransaction()
          await mysqlGuard(connection).check(lease)
          await connection.commit()
          connection.release()
        },
        createsTable: () => pool.query('create table other (id int)'),
      }
    },
  }
}

async function onPostgres(): Promise<Place> {
  const name = newName()
  const admin = new pg.Client(postgresUrl)
  await admin.connect()
  await admin.query(`create database ${name}`)
  await admin.query(`create role ${name} login`)
  const address = new URL(postgresUrl)
  address.pathname = name
  const owner = address.href
  const own = new pg.Client(owner)
  await own.connect()
  await own.query('alter default privileges revoke execute on functions from public')
  address.username = name
  onTestFinished(async () => {
    await own.end()
    await admin.query(`drop database ${name} with (force)`)
    await admin.query(`drop role ${name}`)
    await admin.end()
  })
  return {
    owner,
    role: address.href,
    grantee: name,
    async create(table, statement) {
      if (statement) await own.query(statement)
      else await postgresJobs(own, { table }).add('first')
      await own.query(`grant select, insert, update, delete on ${table} to ${name}`)
    },
    revoke: async (right, table) => {
      await own.query(`revoke ${right} on ${table} from ${name}`)
    },
    async open() {
      const pool = new pg.Pool({ connectionString: address.href })
      onTestFinished(() => pool.end())
      return {
        store: postgresStore(pool),
        documents: postgresDocuments(pool),
        audit: postgresAudit(pool),
        bus: postgresBus(pool),
        jobs: postgresJobs(pool),
        guardTable: guardTable(),
        async guard(lease) {
          const client = await pool.connect()
          await client.query('begin')
          await postgresGuard(client).check(lease)
          await client.query('commit')
          client.release()
        },
        createsTable: () => pool.query('create table other (id int)'),
      }
    },
  }
}

describe.each([
  ['MySQL', onMysql],
  ['Postgres', onPostgres],
])('a role of %s that may only use tables', (_, openPlace) => {
  it('runs leases, jobs, guards and the whole server after one migration', async () => {
    const place = await openPlace()
    const migrated = await holdfast(['migrate', place.owner, '--grant', place.grantee])
    expect([migrated.code, migrated.stdout]).toEqual([0, expect.stringMatching(/documents.*audit.*secrets/s)])
    const doctor = await holdfast(['doctor', place.role])
    expect(doctor.stdout).toMatch(/✓ documents.*✓ audit.*✓ bus.*✓ secrets.*✓ push/s)
    expect(doctor.code).toBe(0)

    const { store, documents, audit, bus, jobs, guard, guardTable, createsTable } = await place.open()
    await expect(createsTable()).rejects.toThrow(/denied/)
    const leases = createLeases(store, { wait: HANG_MS })
    const lease = await leases.acquire('r')
    const waiting = leases.acquire('r')
    await expect.poll(async () => (await leases.waiting('r')).length).toBe(1)
    await lease.release()
    const next = await waiting
    const readers = await Promise.all([1, 2].map(() => leases.acquire('shared', { share: 2, atLeast: 1 })))
    expect(await leases.holders('shared')).toHaveLength(2)
    for (const reader of readers) await reader.release()
    await store.sweep({ limit: 10 })

    await place.create('holdfast_guard', guardTable)
    await guard(next)
    await place.create('jobs', '')
    const once = createOnce(jobs)
    await jobs.add('job')
    expect(await once.run('job', async () => 'result')).toMatchObject({ result: 'result' })
    await next.release()

    const heard = Promise.withResolvers<unknown>()
    await bus.subscribe(heard.resolve)
    const message = { topic: 'greeting', data: { text: 'hello' } }
    await bus.publish(message)
    expect(await heard.promise).toEqual(message)
    await bus.close()
    await documents.sweep?.()
    await leases.close()
    await store.close()

    const { url: served } = await startServe(place.role)
    expect((await fetch(`${served}/readyz`)).status).toBe(200)
    const browser = browserAt(served)
    const { status, body } = await browser.call('POST', '/api/documents/draft/lock')
    expect(status).toBe(200)
    const saved = await browser.call('PUT', '/api/documents/draft', { content: 'text', token: body.token })
    expect(saved.status).toBe(200)
    await expect.poll(async () => (await audit.read({ limit: 1 })).entries.length).toBe(1)
  })

  it('is told which right it lacks, and not that its password is wrong', async () => {
    const place = await openPlace()
    expect((await holdfast(['migrate', place.owner, '--grant', place.grantee])).code).toBe(0)
    await place.revoke('insert', 'holdfast_leases_waiters')
    await place.revoke('delete', 'holdfast_documents')
    const doctor = await holdfast(['doctor', place.role])
    expect(doctor.code).toBe(1)
    expect(doctor.stdout).toMatch(/✗ .*(denied.*\n.*lacks a right|lacks insert on).*--grant/)
    expect(doctor.stdout).not.toMatch(/password/)
  })
})

it('migrate says how to name a user of MySQL that it does not find', async () => {
  const place = await onMysql()
  expect(await holdfast(['migrate', place.owner, '--grant', 'nobody@nowhere'])).toMatchObject({
    code: 64,
    stderr: expect.stringMatching(/there is no user nobody at nowhere; name it as USER@HOST/),
  })
})
