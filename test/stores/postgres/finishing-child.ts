/** A process that has waited for a lease and has nothing more to do. `argv`: url, schema, how long every timer takes. */
import pg from 'pg'
import { createLeases } from '../../../src/core/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'

const [connectionString, schema = '', timerMs] = process.argv.slice(2)
const { setTimeout } = globalThis
// Whatever timer keeps this process alive does so for long.
globalThis.setTimeout = ((run: () => void) => setTimeout(run, Number(timerMs))) as typeof setTimeout
const pool = new pg.Pool({ connectionString })
const leases = createLeases(postgresStore(pool, { schema }))
const first = await leases.acquire('r')
const second = leases.acquire('r')
await expectLine()
await first.release()
await (await second).release()
await pool.end()
process.disconnect()

async function expectLine(): Promise<void> {
  for (;;) {
    const { rows } = await pool.query(`select line from ${schema}.holdfast_leases`)
    if (rows[0]?.line.length === 1) return
  }
}
