/** Leases on Postgres beside bare statements, advisory locks and verrou. */
import pg from 'pg'
import { type Server, startServer } from '../scripts/services/index.ts'
import { benchContended } from './postgres/contended.ts'
import { benchFrozen } from './postgres/frozen.ts'
import { benchShared } from './postgres/sharing.ts'
import { benchUncontended } from './postgres/uncontended.ts'

export async function run(): Promise<void> {
  const { HOLDFAST_TEST_POSTGRES_URL: given } = process.env
  // A server of our own in any case: only such a one may be frozen.
  const server: Server = await startServer('postgres')
  const url = given ?? server.address
  try {
    await dropTables(url)
    await benchUncontended(url)
    await benchContended(url)
    await benchFrozen(server)
    await benchShared(server)
  } finally {
    await dropTables(url).catch(() => {})
    await server.stop()
  }
}

async function dropTables(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('drop schema if exists holdfast_bench cascade; create schema holdfast_bench')
  await client.end()
}
