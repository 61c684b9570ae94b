/** Leases on MySQL or MariaDB beside bare statements, GET_LOCK and verrou. */
import { createConnection } from 'mysql2/promise'
import { startServices } from '../scripts/services/index.ts'
import { benchContended } from './mysql/contended.ts'
import { benchUncontended } from './mysql/uncontended.ts'

const DATABASE = 'holdfast_bench'

export async function run(): Promise<void> {
  await using services = await startServices(['mysql'])
  const { HOLDFAST_TEST_MYSQL_URL: address = '' } = services.environment
  const url = new URL(address)
  const admin = await createConnection(url.href)
  url.pathname = DATABASE
  try {
    await admin.query(`drop database if exists ${DATABASE}`)
    await admin.query(`create database ${DATABASE}`)
    await benchUncontended(url.href)
    await benchContended(url.href)
  } finally {
    await admin.query(`drop database if exists ${DATABASE}`)
    await admin.end()
  }
}
