import { createPool, type Pool, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
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
    throughPort(mysqlStore(portPool, { table: 'port' }), () => portPool.end()),
    throughManager(mysqlStore(managerPool, { table: 'manager' }), () => managerPool.end()),
    namedLock(url),
    ...(await verrouCycles({ client: 'mysql2', connection: url })),
  ]
  await compareCycles('MySQL', contenders, BARE, { rounds: 12 })
  for (const { close } of contenders) await close()
}

async function bareStatements(url: string): Promise<Closable> {
  const pool = poolOf(url)
  await pool.query(`create table bare
    (resource varchar(200) primary key, owner char(36), expires datetime(3), token bigint not null)`)
  const cycle = async (key: string) => {
    const owner = crypto.randomUUID()
    const free = 'owner is null or expires <= utc_timestamp(3)'
    // Each assignment sees those before it, so the owner comes after the token, and the expiry last.
    const [{ affectedRows }] = await pool.execute<ResultSetHeader>(
      `insert into bare values (?, ?, utc_timestamp(3) + interval ? * 1000 microsecond, 1)
       on duplicate key update
         token = if(${free}, token + 1, token),
         owner = if(${free}, values(owner), owner),
         expires = if(owner = values(owner), values(expires), expires)`,
      [key, owner, TTL_MS],
    )
    // 1: inserted, 2: updated, 0: held by another.
    expectOne(Number(affectedRows > 0))
    const [released] = await pool.execute<ResultSetHeader>(
      'update bare set owner = null where resource = ? and owner = ?',
      [key, owner],
    )
    expectOne(released.affectedRows)
  }
  return contender(BARE, cycle, () => pool.end())
}

/** Holds a connection for as long as the lock; has no expiry, token or owner. */
function namedLock(url: string): Closable {
  const pool = poolOf(url)
  const cycle = async (key: string) => {
    const connection = await pool.getConnection()
    const sql = 'select get_lock(?, 0)'
    const [rows] = await connection.execute<RowDataPacket[][]>({ sql, rowsAsArray: true }, [key])
    expectOne(Number(rows[0]?.[0]))
    await connection.execute('do release_lock(?)', [key])
    connection.release()
  }
  return contender('GET_LOCK', cycle, () => pool.end())
}

function poolOf(uri: string): Pool {
  return createPool({ uri, connectionLimit: 10 })
}
