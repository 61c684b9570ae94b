import { createPool, type Pool } from 'mysql2/promise'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLeases } from '../../../src/core/index.ts'
import { migrateMysql, mysqlStore } from '../../../src/stores/mysql/index.ts'
import { FakeClock } from '../../../src/testing/index.ts'

const { HOLDFAST_TEST_MYSQL_URL: url = '' } = process.env
const database = `short_wait_${process.pid}`
let pool: Pool
beforeAll(async () => {
  pool = createPool({ uri: url })
  await pool.query(`create database ${database}`)
  await migrateMysql(pool, { database })
})
afterAll(async () => {
  await pool.query(`drop database ${database}`)
  await pool.end()
})

it('a free resource is granted with a wait of 10 ms while the database is slow', async () => {
  const clock = new FakeClock()
  await using store = mysqlStore(pool, { database })
  await using leases = createLeases(store, { clock })
  const blocker = await pool.getConnection()
  const [tables] = await blocker.query(`show full tables from ${database} where Table_type = 'BASE TABLE'`)
  const names = (tables as object[]).map((row) => `${database}.${Object.values(row)[0]} write`)
  await blocker.query(`lock tables ${names}`)
  const acquiring = leases.acquire('r', { wait: 10 }).catch((error) => error)
  await clock.advance(900)
  await blocker.query('unlock tables')
  blocker.release()
  expect(await acquiring).toMatchObject({ held: true })
})
