import pg from 'pg'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import {
  type Closable,
  compareCycles,
  contender,
  expectOne,
  TTL_MS,
  throughManager,
  throughPort,
  verrouCycles,
} from '../contention/cycles.ts'

const BARE = 'bare upsert and update'

export async function benchUncontended(url: string): Promise<void> {
  const [portPool, managerPool] = [poolOf(url), poolOf(url)]
  const contenders = [
    await bareStatements(url),
    throughPort(postgresStore(portPool, { schema: 'holdfast_bench', table: 'port' }), () => portPool.end()),
    throughManager(postgresStore(managerPool, { schema: 'holdfast_bench', table: 'manager' }), () =>
      managerPool.end(),
    ),
    advisoryLock(url),
    ...(await verrouCycles({ client: 'pg', connection: url, searchPath: ['holdfast_bench'] })),
  ]
  await compareCycles('Postgres', contenders, BARE, { rounds: 12 })
  for (const { close } of contenders) await close()
}

async function bareStatements(url: string): Promise<Closable> {
  const pool = poolOf(url)
  await pool.query(`create table holdfast_bench.bare
    (resource text primary key, owner text, expires timestamptz, token bigint not null) with (fillfactor = 50)`)
  const cycle = async (key: string) => {
    const owner = crypto.randomUUID()
    const { rowCount } = await pool.query(
      `insert into holdfast_bench.bare as b values ($1, $2, clock_timestamp() + $3 * interval '1 ms', 1)
       on conflict (resource) do update
         set owner = excluded.owner, expires = clock_timestamp() + $3 * interval '1 ms', token = b.token + 1
         where b.owner is null or b.expires <= clock_timestamp()
       returning token, expires`,
      [key, owner, TTL_MS],
    )
    expectOne(rowCount)
    const released = await pool.query(
      'update holdfast_bench.bare set owner = null where resource = $1 and owner = $2',
      [key, owner],
    )
    expectOne(released.rowCount)
  }
  return contender(BARE, cycle, () => pool.end())
}

/** Holds a connection for as long as the lock; has no expiry, token or owner. */
function advisoryLock(url: string): Closable {
  const pool = poolOf(url)
  const cycle = async (key: string) => {
    const client = await pool.connect()
    const { rows } = await client.query('select pg_try_advisory_lock(hashtext($1)) as granted', [key])
    expectOne(Number(rows[0]?.granted))
    await client.query('select pg_advisory_unlock(hashtext($1))', [key])
    client.release()
  }
  return contender('advisory lock', cycle, () => pool.end())
}

function poolOf(connectionString: string): pg.Pool {
  return new pg.Pool({ connectionString, max: 10 })
}
