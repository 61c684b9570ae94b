/** `/readyz` while the store can be read, but not written. That it is down or frozen: test/cli/outage.test.ts. */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Etcd3 } from 'etcd3'
import { Redis } from 'ioredis'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { startServer } from '../../scripts/services/index.ts'
import {
  etcdBus,
  etcdDocuments,
  type LockServerOptions,
  postgresDocuments,
  redisDocuments,
} from '../../src/server/index.ts'
import { createServer, openSqlite, sqliteDocuments } from '../../src/server/node/index.ts'
import { etcdStore } from '../../src/stores/etcd/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { temporaryDirectory } from '../cli/holdfast.ts'
import { SECRETS } from './service-bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: postgresUrl = '' } = process.env

/** Resolves with a function that asks for `/readyz`: the status, and what failed. */
async function serverWith(parts: Pick<LockServerOptions, 'store' | 'documents' | 'bus'>) {
  // Creates the tables.
  await parts.store.check?.()
  await parts.documents?.check?.()
  const server = await createServer({ ...parts, log: () => {}, settings: { ...SECRETS, port: 0 } })
  onTestFinished(async () => {
    await server.close()
    await parts.bus?.close()
    await parts.store.close()
  })
  return async () => {
    const response = await fetch(`${server.url}/readyz`)
    const { failed } = (await response.json()) as { failed?: unknown }
    return [response.status, failed]
  }
}

const IN_OWN_MOUNTS = ['--map-root-user', '--mount']
/** Mounting a small disk needs a separate mount namespace. */
const canMount = spawnSync('unshare', [...IN_OWN_MOUNTS, 'true']).status === 0

it.skipIf(!canMount)('a server whose SQLite file is on a full disk is not ready until there is room', () => {
  const script = join(import.meta.dirname, 'full-disk.ts')
  const run = `mount -t tmpfs -o size=1m tmpfs "$1" && exec "$0" "$2" "$1"`
  const args = ['sh', '-c', run, process.execPath, temporaryDirectory(), script]
  const output = execFileSync('unshare', [...IN_OWN_MOUNTS, ...args], { encoding: 'utf8' })
  expect(JSON.parse(output)).toEqual({ full: [503, 503], after: [200, 200] })
})

it('a server whose SQLite file may only be read is not ready until it can write again', async () => {
  const path = join(temporaryDirectory(), 'holdfast.db')
  const databases = [new DatabaseSync(path), openSqlite(path)] as const
  onTestFinished(() => databases.forEach((database) => void database.close()))
  const readyz = await serverWith({
    store: sqliteStore(databases[0]),
    documents: sqliteDocuments(databases[1]),
  })
  for (const database of databases) database.exec('pragma query_only = on')
  expect(await readyz()).toEqual([503, { leases: 'store-failed', documents: 'store-failed' }])
  for (const database of databases) database.exec('pragma query_only = off')
  expect(await readyz()).toEqual([200, undefined])
})

it('a server whose Redis refuses to write is not ready', async () => {
  const redis = await startServer('redis')
  onTestFinished(() => redis.stop())
  const client = new Redis(redis.address)
  onTestFinished(() => client.disconnect())
  const readyz = await serverWith({ store: redisStore(client), documents: redisDocuments(client) })
  await client.config('SET', 'min-replicas-to-write', 1)
  expect(await readyz()).toEqual([503, { leases: 'store-unavailable', documents: 'store-unavailable' }])
  await client.config('SET', 'min-replicas-to-write', 0)
  expect(await readyz()).toEqual([200, undefined])
})

it('a server whose Postgres fails to write is not ready', async () => {
  const name = `ready_${crypto.randomUUID().replaceAll('-', '')}`
  const admin = new pg.Client(postgresUrl)
  await admin.connect()
  await admin.query(`create schema ${name}`)
  const pool = new pg.Pool({ connectionString: postgresUrl, max: 1, options: `-c search_path=${name}` })
  onTestFinished(async () => {
    await pool.end()
    await admin.query(`drop schema ${name} cascade`)
    await admin.end()
  })
  const readyz = await serverWith({ store: postgresStore(pool), documents: postgresDocuments(pool) })
  // As on a full disk: a statement that writes fails, one that reads does not.
  const tables = { holdfast_leases: 'resource', holdfast_documents: 'room' }
  for (const [table, key] of Object.entries(tables))
    await admin.query(`alter table ${name}.${table} add constraint full_disk check (${key} <> '')`)
  expect(await readyz()).toEqual([503, { leases: 'store-failed', documents: 'store-failed' }])
  for (const table of Object.keys(tables))
    await admin.query(`alter table ${name}.${table} drop constraint full_disk`)
  expect(await readyz()).toEqual([200, undefined])
})

it('a server whose etcd has run out of space is not ready', async () => {
  const etcd = await startServer('etcd')
  onTestFinished(() => etcd.stop())
  const client = new Etcd3({ hosts: etcd.address.replace('etcd:', 'http:') })
  onTestFinished(() => client.close())
  const readyz = await serverWith({
    store: etcdStore(client),
    documents: etcdDocuments(client),
    bus: etcdBus(client),
  })
  const { header } = await client.maintenance.status()
  const alarm = { memberID: header.member_id, alarm: 1 } // NOSPACE
  await client.maintenance.alarm({ ...alarm, action: 1 })
  expect(await readyz()).toEqual([503, { documents: 'store-failed', bus: 'store-failed' }])
  await client.maintenance.alarm({ ...alarm, action: 2 })
  expect(await readyz()).toEqual([200, undefined])
})
