import { DatabaseSync } from 'node:sqlite'
import { firestoreJobs, type JobStore, postgresJobs, sqliteJobs } from '../../src/once/index.ts'

export interface OpenJobs extends AsyncDisposable {
  readonly jobs: JobStore
}

/** `sqlite:./jobs.db`, `postgres://…`, or `firestore:project`. With `FIRESTORE_EMULATOR_HOST`, an emulator. */
export async function openJobs(url: string, table = 'analyses'): Promise<OpenJobs> {
  const scheme = url.slice(0, url.indexOf(':'))
  const rest = url.slice(scheme.length + 1)
  if (scheme === 'sqlite') {
    const database = new DatabaseSync(rest)
    database.exec('pragma journal_mode = wal; pragma synchronous = normal')
    return { jobs: sqliteJobs(database, { table }), [Symbol.asyncDispose]: async () => database.close() }
  }
  if (scheme === 'postgres' || scheme === 'postgresql') {
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({ connectionString: url, max: 4 })
    return { jobs: postgresJobs(pool, { table }), [Symbol.asyncDispose]: () => pool.end() }
  }
  if (scheme === 'firestore') {
    // Without this, the client first looks for a metadata server of Google, also with an emulator.
    Object.assign(process.env, { METADATA_SERVER_DETECTION: 'none' })
    const { Firestore } = await import('@google-cloud/firestore')
    const client = new Firestore({ projectId: rest || 'holdfast-example' })
    return {
      jobs: firestoreJobs(client, { collection: table }),
      [Symbol.asyncDispose]: () => client.terminate(),
    }
  }
  throw new Error(`expected sqlite:<file>, postgres://… or firestore:<project>, got ${url}`)
}
