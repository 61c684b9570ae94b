import pg from 'pg'
import { expect } from 'vitest'
import type { LeaseStore } from '../../../src/core/index.ts'
import { type PostgresClient, postgresStore } from '../../../src/stores/postgres/index.ts'
import type { PostgresStoreOptions } from '../../../src/stores/postgres/options.ts'
import { eventually } from '../../eventually.ts'

/** A schema of its own for one test, with the stores and pools that the test opens on it. */
export interface Bed extends AsyncDisposable {
  readonly schema: string
  readonly table: string
  readonly admin: pg.Client
  /** Also the `application_name` of its connections. */
  pool(config?: pg.PoolConfig): pg.Pool
  /** A store on a new pool, as another process would have it. */
  store(options?: PostgresStoreOptions): LeaseStore
  storeOn(client: PostgresClient, options?: PostgresStoreOptions): LeaseStore
  /** How many connections of the pools listen. */
  listeners(): Promise<number>
  /** How many places are taken in all queues. */
  waiters(): Promise<number>
  /** Waits until a call is blocked by a lock of `admin`. Resolves with the pid of its server process. */
  blocked(): Promise<number>
  /** Stops the clock of the tables, so that no lease and no reservation expires. The tables must exist. */
  stopClock(): Promise<void>
  /** Moves the stopped clock. */
  passClock(ms: number): Promise<void>
  /** Closes the stores and pools but keeps the schema, for a server that ends with the test. */
  close(): Promise<void>
}

/** For `pg_stat_activity`: the connection on which a store listens. */
export const LISTENS = "query ~* '^((un)?listen|/[*] holdfast listens)'"

export async function makeBed(url: string): Promise<Bed> {
  // Short enough for the names of prepared statements.
  const schema = `bed_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`
  const admin = new pg.Client(url)
  await admin.connect()
  const stores: LeaseStore[] = []
  const pools: pg.Pool[] = []
  const bed: Bed = {
    schema,
    table: `${schema}.holdfast_leases`,
    admin,
    pool(config) {
      const pool = new pg.Pool({ connectionString: url, application_name: schema, ...config })
      pool.on('error', () => {})
      pools.push(pool)
      return pool
    },
    store: (options) => bed.storeOn(bed.pool(), options),
    storeOn(client, options) {
      const store = postgresStore(client, { schema, ...options })
      stores.push(store)
      return store
    },
    async listeners() {
      const { rowCount } = await admin.query(
        `select from pg_stat_activity where application_name = $1 and ${LISTENS}`,
        [schema],
      )
      return rowCount ?? 0
    },
    async waiters() {
      const { rows } = await admin.query(`select count(*)::integer from ${bed.table}_waiters`)
      return rows[0].count
    },
    blocked: () =>
      eventually(async () => {
        const { rows } = await admin.query(
          'select pid from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))',
        )
        expect(rows).toHaveLength(1)
        return rows[0].pid
      }),
    async stopClock() {
      await admin.query(`
        create table ${schema}.stopped as select clock_timestamp() as at;
        create function ${schema}.clock_timestamp() returns timestamptz language sql as
          'select at from ${schema}.stopped';
        do $$
        declare
          name regprocedure;
        begin
          for name in select oid from pg_proc where pronamespace = '${schema}'::regnamespace loop
            execute format('alter function %s set search_path = ${schema}, pg_catalog', name);
          end loop;
        end
        $$`)
    },
    async passClock(ms) {
      await admin.query(`update ${schema}.stopped set at = at + $1 * interval '1 ms'`, [ms])
    },
    async close() {
      await Promise.all(stores.map((store) => store.close()))
      await Promise.all(pools.map((pool) => pool.end()))
    },
    async [Symbol.asyncDispose]() {
      await bed.close()
      await admin.query(`drop schema if exists ${schema} cascade`)
      await admin.end()
    },
  }
  return bed
}
