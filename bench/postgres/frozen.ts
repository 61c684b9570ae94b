import { setTimeout as sleep } from 'node:timers/promises'
import { aborted } from 'node:util'
import pg from 'pg'
import type { Server } from '../../scripts/services/index.ts'
import { createLeases } from '../../src/core/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { now } from '../contention/rival.ts'
import { printTable } from '../measure.ts'

const TTL_MS = 2000
const TIMES = 3

/** How early a holder knows that its lease is gone while the server does not answer. */
export async function benchFrozen(server: Server): Promise<void> {
  const rows = [['', 'lost after ms', 'before its expiry', 'granted again after thaw, ms']]
  for (let time = 1; time <= TIMES; time++) {
    const pool = new pg.Pool({ connectionString: server.address })
    pool.on('error', () => {})
    const store = postgresStore(pool, { schema: 'holdfast_bench', table: 'frozen' })
    const leases = createLeases(store, { ttl: TTL_MS, onEvent: () => {} })
    await leases.withLease('warm', async () => {})
    const asked = now()
    const lease = await leases.acquire('frozen', { heartbeat: false })
    server.freeze()
    const lost = aborted(lease.signal, lease).then(() => now() - asked)
    const [after] = await Promise.all([lost, sleep(3 * TTL_MS)])
    server.thaw()
    const thawed = now()
    await leases.acquire('frozen', { wait: 10_000 })
    const again = now() - thawed
    rows.push([`freeze ${time}`, after.toFixed(0), `${(TTL_MS - after).toFixed(0)} ms`, again.toFixed(0)])
    await leases.close()
    await store.close()
    await pool.end()
  }
  printTable(`Postgres, server frozen for ${3 * TTL_MS} ms, TTL ${TTL_MS} ms`, rows)
}
