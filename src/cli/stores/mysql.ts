import { isAccessDenied } from '../../clients/mysql-errors.ts'
import { mysqlStore } from '../../stores/mysql/index.ts'
import {
  type BackendWarning,
  CONNECT_LIMIT_MS,
  firstAnswer,
  loadClient,
  type OpenedStore,
  optional,
  takeParameter,
} from './opened-store.ts'

const CONNECTIONS = 4

export async function openMysql(url: URL): Promise<OpenedStore> {
  const table = takeParameter(url, 'table')
  const { createPool } = await loadClient('MySQL', { mysql2: () => import('mysql2/promise') })
  const pool = createPool({ uri: url.href, connectionLimit: CONNECTIONS, connectTimeout: CONNECT_LIMIT_MS })
  const store = mysqlStore(pool, optional('table', table))
  const close = async () => {
    await store.close()
    await pool.end()
  }
  await firstAnswer({ store, close }, 'mysql', isAccessDenied)
  return {
    store,
    close,
    async serverParts() {
      const { mysqlAudit, mysqlBus, mysqlDocuments, mysqlSecrets } = await import('../../server/index.ts')
      const tableFor = (part: string) => ({ table: `${table ?? 'holdfast'}_${part}` })
      return {
        documents: mysqlDocuments(pool, tableFor('documents')),
        audit: mysqlAudit(pool, tableFor('audit')),
        secrets: mysqlSecrets(pool, tableFor('secrets')),
        bus: mysqlBus(pool, tableFor('bus')),
      }
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
