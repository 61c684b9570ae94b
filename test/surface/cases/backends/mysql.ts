import { migrateMysql, mysqlStore } from 'holdfast/mysql'
import { createPool } from 'mysql2/promise'
import { addressOf, type Backend, unique } from '../backend.ts'
import { leasesCase } from '../leases.ts'
import { storeCase } from '../store.ts'

export async function open(): Promise<Backend> {
  const uri = addressOf('HOLDFAST_TEST_MYSQL_URL')
  await using administrator = createPool({ uri, connectionLimit: 1 })
  await administrator.query(`create database ${unique}`)
  const pool = createPool({ uri, database: unique })
  return {
    cases: {
      leases: () => leasesCase(() => mysqlStore(pool)),
      async store() {
        const table = { database: unique, table: 'other' }
        await migrateMysql(pool)
        await migrateMysql(pool, table)
        await storeCase(() => mysqlStore(pool, { ...table, migrate: false, poll: 50, maxInFlight: 2 }))
      },
    },
    async [Symbol.asyncDispose]() {
      await pool.query(`drop database ${unique}`)
      await pool.end()
    },
  }
}
