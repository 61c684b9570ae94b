import { refuseClient } from '../base/arguments.ts'
import {
  COMMIT,
  isMysqlPool,
  type MysqlClient,
  type MysqlPoolConnection,
  mysqlDatabase,
  promisedClient,
} from './mysql.ts'
import { isRefusal } from './mysql-errors.ts'
import { runTransaction } from './transaction.ts'

/** What the work in a transaction gets: a connection of the pool, with promises. */
export type MysqlTransaction<Client> = Client extends { getConnection(): Promise<infer Connection> }
  ? Connection
  : Client extends { promise(): { getConnection(): Promise<infer Connection> } }
    ? Connection
    : never

export async function inMysqlTransaction<T>(
  client: MysqlClient,
  option: string,
  work: (connection: MysqlPoolConnection) => Promise<T>,
): Promise<T> {
  const pool = promisedClient(client)
  if (!isMysqlPool(pool)) refuseClient(option, 'a Pool of mysql2, to open a transaction', client)
  const connection = await pool.getConnection()
  const { change, limit } = mysqlDatabase(connection)
  limit.ms = 0
  const steps = {
    backend: 'MySQL',
    isRefusal,
    begin: () => change('start transaction'),
    commit: () => change(COMMIT),
    rollBack: () => change('rollback and no chain no release'),
    end: (isBroken: boolean) => (isBroken ? connection.destroy() : connection.release()),
  }
  return runTransaction(steps, () => work(connection))
}
