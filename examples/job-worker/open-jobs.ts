import { DatabaseSync } from 'node:sqlite'
import {
  etcdJobs,
  firestoreJobs,
  type JobStore,
  mysqlJobs,
  postgresJobs,
  redisJobs,
  sqliteJobs,
} from '../../src/once/index.ts'

export interface OpenJobs extends AsyncDisposable {
  readonly jobs: JobStore
}

export const ADDRESSES = 'sqlite:<file>, postgres://…, mysql://…, redis://…, etcd://…, firestore:<project>'

/** `table`: the table or collection, or the beginning of the keys. With `FIRESTORE_EMULATOR_HOST`, an emulator. */
export async function openJobs(url: string, table = 'jobs'): Promise<OpenJobs> {
  const scheme = url.slice(0, url.indexOf(':'))
  const rest = url.slice(scheme.length + 1)
  switch (scheme) {
    case 'sqlite': {
      const database = new DatabaseSync(rest)
      database.exec('pragma journal_mode = wal; pragma synchronous = normal')
      return opened(sqliteJobs(database, { table }), () => database.close())
    }
    case 'postgres':
    case 'postgresql': {
      const { default: pg } = await import('pg')
      const pool = new pg.Pool({ connectionString: url, max: 4 })
      return opened(postgresJobs(pool, { table }), () => pool.end())
    }
    case 'mysql': {
      const { createPool } = await import('mysql2/promise')
      const pool = createPool(url)
      return opened(mysqlJobs(pool, { table }), () => pool.end())
    }
    case 'redis': {
      const { Redis } = await import('ioredis')
      const client = new Redis(url)
      return opened(redisJobs(client, { prefix: table }), () => client.disconnect())
    }
    case 'etcd': {
      const { Etcd3 } = await import('etcd3')
      const client = new Etcd3({ hosts: `http:${rest}` })
      return opened(etcdJobs(client, { prefix: `${table}/` }), () => client.close())
    }
    case 'firestore': {
      // Without this, the client first looks for a metadata server of Google, also with an emulator.
      Object.assign(process.env, { METADATA_SERVER_DETECTION: 'none' })
      const { Firestore } = await import('@google-cloud/firestore')
      const client = new Firestore({ projectId: rest || 'holdfast-example' })
      return opened(firestoreJobs(client, { collection: table }), () => client.terminate())
    }
    default:
      throw new Error(`expected ${ADDRESSES}, got ${url}`)
  }
}

function opened(jobs: JobStore, close: () => unknown): OpenJobs {
  return {
    jobs,
    async [Symbol.asyncDispose]() {
      await close()
    },
  }
}
