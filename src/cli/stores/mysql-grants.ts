/** What `migrate` creates in MySQL, and what a user needs of it. */
import type { Pool, RowDataPacket } from 'mysql2/promise'
import { mysqlName } from '../../clients/mysql.ts'
import { codeOf } from '../../clients/store-error.ts'
import { usageFailure } from '../failure.ts'

const LEASE_TABLES = ['', '_holders', '_waiters', '_channels', '_messages', '_meta']
const RIGHTS = 'select, insert, update, delete'
const ANY_HOST = '%'
/** The server finds no such user, or would have to create it. */
const NO_SUCH_USER = ['ER_PASSWORD_NO_MATCH', 'ER_CANT_CREATE_USER_WITH_GRANT', 'ER_NONEXISTING_GRANT']

/** `leases`: the table of the leases. `parts`: those of the server. */
export function mysqlTables(leases: string, parts: readonly string[]): string[] {
  return [...LEASE_TABLES.map((suffix) => `${leases}${suffix}`), ...parts]
}

/** `user`: `name`, or `name@host`. It gets what a node needs, and nothing more. */
export async function grantMysqlAccess(
  pool: Pool,
  user: string,
  { leases, tables }: { readonly leases: string; readonly tables: readonly string[] },
): Promise<void> {
  const at = user.lastIndexOf('@')
  const [name, host] = at < 0 ? [user, ANY_HOST] : [user.slice(0, at), user.slice(at + 1)]
  const grantee = `${pool.escape(name)}@${pool.escape(host)}`
  try {
    for (const table of tables) await pool.query(`grant ${RIGHTS} on ${mysqlName(table)} to ${grantee}`)
    for (const procedure of await proceduresOf(pool, leases))
      await pool.query(`grant execute on procedure ${mysqlName(procedure)} to ${grantee}`)
  } catch (error) {
    if (!NO_SUCH_USER.includes(codeOf(error))) throw error
    throw usageFailure(`--grant: there is no user ${name} at ${host}; name it as USER@HOST`)
  }
}

async function proceduresOf(pool: Pool, leases: string): Promise<string[]> {
  const [rows] = await pool.query<RowDataPacket[]>(
    `select routine_name as name from information_schema.routines
      where routine_schema = database() and routine_type = 'PROCEDURE' and left(routine_name, ?) = ?`,
    [leases.length + 2, `${leases}_v`],
  )
  return rows.map(({ name }) => String(name))
}
