import { isLoginDenied } from '../../clients/mysql-errors.ts'
import { mysqlStore } from '../../stores/mysql/index.ts'
import { CONNECT_LIMIT_MS, POOL_CONNECTIONS } from '../options.ts'
import { grantMysqlAccess, mysqlTables } from './mysql-grants.ts'
import {
  type BackendWarning,
  firstAnswer,
  loadClient,
  type OpenedStore,
  optional,
  takeParameter,
} from './opened-store.ts'

export async function openMysql(url: URL): Promise<OpenedStore> {
  const table = takeParameter(url, 'table')
  const { createPool } = await loadClient('MySQL', { mysql2: () => import('mysql2/promise') })
  const pool = createPool({
    uri: url.href,
    connectionLimit: POOL_CONNECTIONS,
    connectTimeout: CONNECT_LIMIT_MS,
  })
  const store = mysqlStore(pool, optional('table', table))
  const close = async () => {
    await store.close()
    await pool.end()
  }
  await firstAnswer({ store, close }, 'mysql', isLoginDenied)
  const nameOf = (part: string) => `${table ?? 'holdfast'}_${part}`
  const serverParts = async () => {
    const { mysqlShared } = await import('../../server/parts.ts')
    return mysqlShared(pool, { table })
  }
  return {
    store,
    close,
    serverParts,
    async jobs() {
      const { mysqlJobs } = await import('../../once/index.ts')
      return mysqlJobs(pool, { table: nameOf('jobs') })
    },
    async migrate({ grantTo }) {
      const { checkDependencies } = await import('../../server/index.ts')
      const parts = await serverParts()
      // A check creates and upgrades first.
      const [failure] = await checkDependencies({ store, ...parts })
      await parts.bus.close()
      if (failure) throw failure.error
      const leases = table ?? 'holdfast_leases'
      const tables = mysqlTables(leases, Object.keys(parts).map(nameOf))
      if (grantTo !== undefined) await grantMysqlAccess(pool, grantTo, { leases, tables })
      return { tables }
    },
    async backendInfo() {
      const [rows] = await pool.query(
        'select version() as version, @@innodb_flush_log_at_trx_commit as flushes',
      )
      const [{ version, flushes } = {}] = rows as Record<string, unknown>[]
      const name = String(version).includes('MariaDB') ? 'MariaDB' : 'MySQL'
      return { version: `${name} ${version} through mysql2`, warnings: flushes === 1 ? [] : [FORGETFUL] }
    },
  }
}

const FORGETFUL: BackendWarning = {
  text: 'the server may forget held leases when it crashes (innodb_flush_log_at_trx_commit)',
  remedy: 'set innodb_flush_log_at_trx_commit = 1, or check tokens at the resource',
}
