/** A process that waited for a lease and has nothing left to do. `argv`: url, schema, duration of every timer. */
import pg from 'pg'
import { createLeases } from '../../../src/core/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'

const [connectionString, schema = '', timerMs] = process.argv.slice(2)
const { setTimeout } = globalThis
// If a timer keeps this process alive, then for a long time. A call may do so for a moment after its answer.
globalThis.setTimeout = ((run: () => void, ms = 0) =>
  setTimeout(run, ms <= 50 ? ms : Number(timerMs))) as typeof setTimeout
const pool = new pg.Pool({ connectionString })
const leases = createLeases(postgresStore(pool, { schema }))
const first = await leases.acquire('r')
const second = leases.acquire('r')
await waiterInQueue()
await first.release()
await (await second).release()
await pool.end()
process.disconnect()

async function waiterInQueue(): Promise<void> {
  for (;;) {
    const { rowCount } = await pool.query(`select from ${schema}.holdfast_leases_waiters`)
    if (rowCount === 1) return
  }
}
