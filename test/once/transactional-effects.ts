import { DatabaseSync } from 'node:sqlite'

/** The database of the jobs also has the effects. No key and no fence prevents a second effect of a job. */
export interface TransactionalEffects extends AsyncDisposable {
  /** Commits, or rolls back if the work rejects. */
  run<T>(work: (tx: object, addEffect: AddEffect) => Promise<T>): Promise<T>
  /** How many effects each job has had, by the name of the job. */
  counts(): Promise<ReadonlyMap<string, number>>
}

type AddEffect = (job: string, worker: string) => Promise<unknown>

export async function openTransactions(url: string, table: string): Promise<TransactionalEffects> {
  return url.startsWith('sqlite:') ? onSqlite(url.slice(7), table) : onPostgres(url, table)
}

const createTable = (table: string) =>
  `create table if not exists "${table}_effects" (job text not null, worker text not null)`
const countAll = (table: string) => `select job, count(*) as count from "${table}_effects" group by job`

function onSqlite(path: string, table: string): TransactionalEffects {
  // A connection of its own: the store uses another one for its heartbeats.
  const database = new DatabaseSync(path, { timeout: 5000 })
  database.exec(createTable(table))
  const insert = database.prepare(`insert into "${table}_effects" values (?, ?)`)
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>) => {
    const turn = last.then(work, work)
    last = turn
    return turn
  }
  return {
    run: (work) =>
      inTurn(async () => {
        database.exec('begin immediate')
        try {
          const result = await work(database, async (job, worker) => insert.run(job, worker))
          database.exec('commit')
          return result
        } catch (error) {
          database.exec('rollback')
          throw error
        }
      }),
    async counts() {
      const rows = database.prepare(countAll(table)).all() as { job: string; count: number }[]
      return new Map(rows.map(({ job, count }) => [job, count]))
    },
    async [Symbol.asyncDispose]() {
      database.close()
    },
  }
}

async function onPostgres(url: string, table: string): Promise<TransactionalEffects> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  // Of several processes that create a table at once, Postgres lets all but one fail.
  await pool.query(createTable(table)).catch(() => {})
  return {
    async run(work) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        const insert = `insert into "${table}_effects" values ($1, $2)`
        const result = await work(client, (job, worker) => client.query(insert, [job, worker]))
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
    async counts() {
      const { rows } = await pool.query<{ job: string; count: string }>(countAll(table))
      return new Map(rows.map(({ job, count }) => [job, Number(count)]))
    },
    async [Symbol.asyncDispose]() {
      await pool.query(`drop table "${table}_effects"`)
      await pool.end()
    },
  }
}
