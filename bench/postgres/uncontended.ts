import pg from 'pg'
import { createLeases } from '../../src/core/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type Contender, compareRates, printTable, rateTable } from '../measure.ts'

const BARE = 'bare upsert and update'
const TTL_MS = 30_000
const KEYS = 64

type Closable = Contender & { close(): unknown }
/** Acquires and releases one key. */
type Cycle = (key: string) => Promise<unknown>

export async function benchUncontended(url: string): Promise<void> {
  const contenders = await contendersFor(url)
  for (const parallel of [1, KEYS]) {
    const rates = await compareRates(contenders, { parallel, rounds: 12 })
    const how = parallel === 1 ? 'one after the other' : `${parallel} keys in parallel`
    printTable(`Postgres, acquire + release, ${how}`, rateTable(rates, BARE))
  }
  for (const { close } of contenders) await close()
}

export async function contendersFor(url: string): Promise<Closable[]> {
  return [
    await bareStatements(url),
    throughPort(url),
    throughManager(url),
    await advisoryLock(url),
    ...(await verrou(url)),
  ]
}

async function bareStatements(url: string): Promise<Closable> {
  const pool = poolOf(url)
  await pool.query(`create table holdfast_bench.bare
    (resource text primary key, owner text, expires timestamptz, token bigint not null) with (fillfactor = 50)`)
  return contender(
    BARE,
    () => pool.end(),
    async (key) => {
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
    },
  )
}

function throughPort(url: string): Closable {
  const pool = poolOf(url)
  const store = postgresStore(pool, { schema: 'holdfast_bench', table: 'port' })
  const close = async () => {
    await store.close()
    await pool.end()
  }
  return contender('store.acquire, store.release', close, async (resource) => {
    const id = crypto.randomUUID()
    const { granted } = await store.acquire({ resource, id, owner: 'bench', ttl: TTL_MS, lost: () => {} })
    expectOne(Number(granted))
    const { ended } = await store.release({ resource, id })
    expectOne(ended && 1)
  })
}

function throughManager(url: string): Closable {
  const pool = poolOf(url)
  const store = postgresStore(pool, { schema: 'holdfast_bench', table: 'manager' })
  const leases = createLeases(store)
  const close = async () => {
    await leases.close()
    await store.close()
    await pool.end()
  }
  return contender('leases.tryAcquire, lease.release', close, async (resource) => {
    const lease = await leases.tryAcquire(resource)
    expectOne(lease && 1)
    await lease?.release()
  })
}

/** Holds a connection for as long as the lock; has no expiry, token or owner. */
async function advisoryLock(url: string): Promise<Closable> {
  const pool = poolOf(url)
  return contender(
    'advisory lock',
    () => pool.end(),
    async (key) => {
      const client = await pool.connect()
      const { rows } = await client.query('select pg_try_advisory_lock(hashtext($1)) as granted', [key])
      expectOne(Number(rows[0]?.granted))
      await client.query('select pg_advisory_unlock(hashtext($1))', [key])
      client.release()
    },
  )
}

interface VerrouLock {
  acquireImmediately(): Promise<boolean>
  release(): Promise<void>
}

async function verrou(url: string): Promise<Closable[]> {
  try {
    const [{ Verrou }, { knexStore }, { default: knex }] = await Promise.all(
      ['@verrou/core', '@verrou/core/drivers/knex', 'knex'].map((name) => import(name)),
    )
    const connection = knex({
      client: 'pg',
      connection: url,
      searchPath: ['holdfast_bench'],
      pool: { max: 10 },
    })
    const driver = knexStore({ connection, tableName: 'verrou' })
    const locks = new Verrou({ default: 'postgres', stores: { postgres: { driver } } })
    const cycle: Cycle = async (key) => {
      const lock: VerrouLock = locks.createLock(key, TTL_MS)
      expectOne(Number(await lock.acquireImmediately()))
      await lock.release()
    }
    await cycle('makes the table')
    return [contender('verrou', () => connection.destroy(), cycle)]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    console.log('verrou is not installed: left out')
    return []
  }
}

function contender(name: string, close: () => unknown, cycle: Cycle): Closable {
  const free = Array.from({ length: KEYS }, (_, n) => `invoice:${n}`)
  const run = async () => {
    const key = free.shift() ?? ''
    await cycle(key)
    free.push(key)
  }
  return { name, run, close }
}

function poolOf(connectionString: string): pg.Pool {
  return new pg.Pool({ connectionString, max: 10 })
}

function expectOne(count: number | null): void {
  if (count !== 1) throw new Error('not granted or not released')
}
