import { mysqlGuard, mysqlGuardTable } from 'holdfast/guard'
import { migrateMysql, mysqlStore } from 'holdfast/mysql'
import { mysqlJobs } from 'holdfast/once'
import { mysqlAudit, mysqlBus, mysqlDocuments, mysqlParts, mysqlSecrets } from 'holdfast/server'
import { createPool } from 'mysql2/promise'
import { addressOf, type Backend, unique } from '../backend.ts'
import { checkRefusedCase, guardCase } from '../guard.ts'
import { leasesCase } from '../leases.ts'
import { locksCase } from '../locks.ts'
import { FIELDS, onceCase, STATUSES } from '../once.ts'
import { auditCase, busCase, documentsCase, partsCase, secretsCase } from '../server-parts.ts'
import { storeCase } from '../store.ts'

export async function open(): Promise<Backend> {
  const uri = addressOf('HOLDFAST_TEST_MYSQL_URL')
  await using administrator = createPool({ uri, connectionLimit: 1 })
  await administrator.query(`create database ${unique}`)
  const pool = createPool({ uri, database: unique })
  return {
    cases: {
      leases: () => leasesCase(() => mysqlStore(pool)),
      locks: () => locksCase(() => mysqlStore(pool)),
      async store() {
        const table = { database: unique, table: 'other' }
        await migrateMysql(pool)
        await migrateMysql(pool, table)
        await storeCase(() => mysqlStore(pool, { ...table, migrate: false, poll: 50, maxInFlight: 2 }))
      },
      async guard() {
        await pool.query(mysqlGuardTable())
        await pool.query(mysqlGuardTable({ table: 'other_guard' }))
        for (const options of [undefined, { table: 'other_guard' }]) {
          const guard = mysqlGuard(pool, options)
          await guardCase((lease) => guard.write(lease, () => {}))
          await guardCase(
            (lease) => guard.write(pool, lease, (connection) => mysqlGuard(connection, options).check(lease)),
            'checked',
          )
          await checkRefusedCase(guard.check)
        }
      },
      async server() {
        await documentsCase(mysqlDocuments(pool))
        await documentsCase(mysqlDocuments(pool, { table: 'other_documents' }))
        await auditCase(mysqlAudit(pool))
        await auditCase(mysqlAudit(pool, { table: 'other_audit', maxEntries: 100 }))
        await secretsCase(mysqlSecrets(pool))
        await secretsCase(mysqlSecrets(pool, { table: 'other_secrets' }))
        await busCase(() => mysqlBus(pool))
        await partsCase(mysqlParts(pool))
        await partsCase(mysqlParts(pool, { table: 'other_parts' }))
        await busCase(() => mysqlBus(pool, { table: 'other_bus', poll: 20 }))
      },
      async once() {
        const names = { database: unique, table: 'tasks', columns: FIELDS, statuses: STATUSES }
        await onceCase(mysqlJobs(pool), mysqlJobs(pool, names), async (work) => {
          const connection = await pool.getConnection()
          await connection.beginTransaction()
          const result = await work(connection)
          await connection.commit()
          connection.release()
          return result
        })
      },
    },
    async [Symbol.asyncDispose]() {
      await pool.query(`drop database ${unique}`)
      await pool.end()
    },
  }
}
