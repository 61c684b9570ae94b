/** One document in each kind of database, with a lease store in the same kind of database. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Etcd3 } from 'etcd3'
import { Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import pg from 'pg'
import postgres from 'postgres'
import { createClient } from 'redis'
import type { RedisClient } from '../../../src/clients/redis.ts'
import type { LeaseStore } from '../../../src/core/index.ts'
import {
  etcdGuard,
  expectWritten,
  type Fence,
  fenceAllows,
  guardTable,
  mysqlGuard,
  mysqlGuardTable,
  postgresGuard,
  redisGuard,
  sqliteGuard,
} from '../../../src/guard/index.ts'
import { etcdStore } from '../../../src/stores/etcd/index.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { freshPrefix } from '../redis/clients.ts'

export interface GuardedDocument extends AsyncDisposable {
  /** In the same kind of database as the document. */
  readonly store: LeaseStore
  /** Checks the lease without a write, so that the guard has seen it. */
  announce(lease: Fence): Promise<void>
  save(lease: Fence, text: string): Promise<void>
  read(): Promise<string | null>
}

const KEY = 'document:42'

export async function onIoredis(url: string): Promise<GuardedDocument> {
  const client = new Redis(url)
  return onRedis(
    client,
    (key) => client.get(key),
    () => client.disconnect(),
  )
}

export async function onEtcd(url: string): Promise<GuardedDocument> {
  const prefix = `${freshPrefix()}/`
  const etcd = new Etcd3({ hosts: url.replace('etcd:', 'http:') })
  const client = etcd.namespace(prefix)
  const guard = etcdGuard(client, KEY)
  const store = etcdStore(client)
  return {
    store,
    announce: (lease) => guard.announce(lease),
    save: (lease, text) => guard.set(lease, text),
    read: () => client.get(KEY).string(),
    async [Symbol.asyncDispose]() {
      await store.close()
      etcd.close()
    },
  }
}

export async function onNodeRedis(url: string): Promise<GuardedDocument> {
  const client = createClient({ url })
  await client.connect()
  return onRedis(
    client,
    (key) => client.get(key),
    () => client.destroy(),
  )
}

function onRedis(
  client: RedisClient,
  get: (key: string) => Promise<string | null>,
  close: () => void,
): GuardedDocument {
  const prefix = freshPrefix()
  const key = `${prefix}:${KEY}`
  const guard = redisGuard(client, key)
  const store = redisStore(client, { prefix })
  return {
    store,
    announce: (lease) => guard.announce(lease),
    save: (lease, text) => guard.set(lease, text),
    read: () => get(key),
    async [Symbol.asyncDispose]() {
      await store.close()
      close()
    },
  }
}

const DOCUMENT_TABLE =
  'document (key text primary key, body text, fence bigint not null, fence_id text not null)'

/** A schema of its own, with one row for the document. */
async function onPostgres(url: string, open: (schema: string) => Omit<GuardedDocument, 'store' | 'read'>) {
  const schema = freshPrefix().replaceAll('-', '_')
  const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}` })
  await pool.query(`CREATE SCHEMA ${schema}`)
  await pool.query(guardTable())
  await pool.query(`CREATE TABLE ${DOCUMENT_TABLE}`)
  await pool.query("INSERT INTO document VALUES ($1, null, 0, '')", [KEY])
  const store = postgresStore(pool, { schema })
  const guarded = open(schema)
  return {
    ...guarded,
    store,
    read: async () => (await pool.query('SELECT body FROM document')).rows[0].body,
    async [Symbol.asyncDispose]() {
      await guarded[Symbol.asyncDispose]()
      await store.close()
      await pool.query(`DROP SCHEMA ${schema} CASCADE`)
      await pool.end()
    },
  } satisfies GuardedDocument
}

export function onPg(url: string): Promise<GuardedDocument> {
  return onPostgres(url, (schema) => {
    const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}` })
    const transact = async (work: (client: pg.PoolClient) => Promise<unknown>) => {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        await work(client)
        await client.query('COMMIT')
      } catch (error) {
        await client.query('ROLLBACK')
        throw error
      } finally {
        client.release()
      }
    }
    return {
      announce: (lease) => transact((client) => postgresGuard(client).check(lease)),
      save: (lease, text) =>
        transact(async (client) => {
          await postgresGuard(client).check(lease)
          await client.query('UPDATE document SET body = $1 WHERE key = $2', [text, KEY])
        }),
      [Symbol.asyncDispose]: () => pool.end(),
    }
  })
}

export function onPgWrite(url: string): Promise<GuardedDocument> {
  return onPostgres(url, (schema) => {
    const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}` })
    const guard = postgresGuard(pool)
    return {
      announce: (lease) => guard.write(lease, () => {}),
      save: (lease, text) =>
        guard.write(lease, async (client) => {
          await client.query('UPDATE document SET body = $1 WHERE key = $2', [text, KEY])
        }),
      [Symbol.asyncDispose]: () => pool.end(),
    }
  })
}

export function onPostgresJs(url: string): Promise<GuardedDocument> {
  return onPostgres(url, (schema) => {
    const sql = postgres(url, { connection: { search_path: schema }, onnotice: () => {} })
    return {
      announce: (lease) => postgresGuard(sql).write(lease, () => {}),
      save: async (lease, text) => {
        await sql.begin(async (transaction) => {
          await postgresGuard(transaction).check(lease)
          await transaction`UPDATE document SET body = ${text} WHERE key = ${KEY}`
        })
      },
      [Symbol.asyncDispose]: () => sql.end(),
    }
  })
}

export function onPostgresJsWrite(url: string): Promise<GuardedDocument> {
  return onPostgres(url, (schema) => {
    const sql = postgres(url, { connection: { search_path: schema }, onnotice: () => {} })
    const guard = postgresGuard(sql)
    return {
      announce: (lease) => guard.write(sql, lease, () => {}),
      save: (lease, text) =>
        guard.write(sql, lease, async (transaction) => {
          await transaction`UPDATE document SET body = ${text} WHERE key = ${KEY}`
        }),
      [Symbol.asyncDispose]: () => sql.end(),
    }
  })
}

export function onPgRow(url: string): Promise<GuardedDocument> {
  return onPostgres(url, (schema) => {
    const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}` })
    const update = async (lease: Fence, set: string, values: unknown[]) => {
      const text = `UPDATE document SET ${set} fence = $1, fence_id = $2 WHERE key = $3 AND ${fenceAllows('$1', '$2')}`
      const { rowCount } = await pool.query(text, [lease.token, lease.id, KEY, ...values])
      expectWritten(lease, rowCount)
    }
    return {
      announce: (lease) => update(lease, '', []),
      save: (lease, text) => update(lease, 'body = $4,', [text]),
      [Symbol.asyncDispose]: () => pool.end(),
    }
  })
}

export async function onMysql(url: string): Promise<GuardedDocument> {
  const database = `guard_${freshPrefix().replaceAll('-', '_')}`
  const setUp = createPool({ uri: url })
  await setUp.query(`CREATE DATABASE ${database}`)
  const pool = createPool({ uri: url, database })
  await pool.query(mysqlGuardTable())
  await pool.query('CREATE TABLE document (body text)')
  await pool.query('INSERT INTO document VALUES (null)')
  const store = mysqlStore(pool)
  return {
    store,
    announce: (lease) => mysqlGuard(pool).write(lease, () => {}),
    async save(lease, text) {
      const connection = await pool.getConnection()
      try {
        await connection.beginTransaction()
        await mysqlGuard(connection).check(lease)
        await connection.execute('UPDATE document SET body = ?', [text])
        await connection.commit()
      } catch (error) {
        await connection.rollback()
        throw error
      } finally {
        connection.release()
      }
    },
    async read() {
      const [rows] = await pool.query('SELECT body FROM document')
      return (rows as { body: string | null }[])[0]?.body ?? null
    },
    async [Symbol.asyncDispose]() {
      await store.close()
      await pool.end()
      await setUp.query(`DROP DATABASE ${database}`)
      await setUp.end()
    },
  }
}

async function onSqlite(open: (db: DatabaseSync) => Pick<GuardedDocument, 'announce' | 'save'>) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-guard-'))
  const db = new DatabaseSync(join(directory, 'app.db'))
  const store = sqliteStore(join(directory, 'leases.db'))
  db.exec(
    `${guardTable()}; CREATE TABLE ${DOCUMENT_TABLE}; INSERT INTO document VALUES ('${KEY}', null, 0, '')`,
  )
  return {
    ...open(db),
    store,
    read: async () => {
      const { body = null } = db.prepare('SELECT body FROM document').get() ?? {}
      return body as string | null
    },
    async [Symbol.asyncDispose]() {
      await store.close()
      db.close()
      rmSync(directory, { recursive: true })
    },
  } satisfies GuardedDocument
}

export function onSqliteTransaction(): Promise<GuardedDocument> {
  return onSqlite((db) => ({
    announce: async (lease) => sqliteGuard(db).write(lease, () => {}),
    async save(lease, text) {
      db.exec('BEGIN IMMEDIATE')
      try {
        sqliteGuard(db).check(lease)
        db.prepare('UPDATE document SET body = ? WHERE key = ?').run(text, KEY)
        db.exec('COMMIT')
      } catch (error) {
        db.exec('ROLLBACK')
        throw error
      }
    },
  }))
}

export function onSqliteRow(): Promise<GuardedDocument> {
  return onSqlite((db) => {
    const update = (lease: Fence, set: string, values: string[]) => {
      const text = `UPDATE document SET ${set} fence = ?1, fence_id = ?2 WHERE key = ?3 AND ${fenceAllows('?1', '?2')}`
      const { changes } = db.prepare(text).run(lease.token, lease.id, KEY, ...values)
      expectWritten(lease, changes)
    }
    return {
      announce: async (lease) => update(lease, '', []),
      save: async (lease, text) => update(lease, 'body = ?4,', [text]),
    }
  })
}
