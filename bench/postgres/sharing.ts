import pg from 'pg'
import type { Server } from '../../scripts/services/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { countCalls } from '../contention/rival.ts'
import { compareSharing, PERMITS, READERS, type SharingRival, sharedLeases } from '../contention/sharing.ts'

/** Semaphores and readers beside advisory locks, which need a connection for each caller. */
export async function benchShared(server: Server): Promise<void> {
  const admin = new pg.Client(server.address)
  await admin.connect()
  await admin.query(`alter system set max_connections = ${READERS + 50}`)
  await admin.end()
  await server.restart()
  await compareSharing('Postgres', {
    leases: async () => openLeases(server.address),
    'advisory locks': () => openAdvisoryLocks(server.address),
  })
}

function openLeases(url: string): SharingRival {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  const counted = countCalls(postgresStore(pool, { schema: 'holdfast_bench', table: 'shared' }))
  return sharedLeases(
    counted.store,
    () => counted.calls,
    () => pool.end(),
  )
}

/** The server hands over by itself. No expiry, no token. There is no semaphore: each permit is a lock of its own. */
async function openAdvisoryLocks(url: string): Promise<SharingRival> {
  const clients = await Promise.all(
    Array.from({ length: READERS + 1 }, async () => {
      const client = new pg.Client(url)
      await client.connect()
      return client
    }),
  )
  const [holder, ...others] = clients as [pg.Client, ...pg.Client[]]
  return {
    calls: null,
    async hold() {
      for (let permit = 0; permit < PERMITS; permit++)
        await holder.query('select pg_advisory_lock($1)', [permit])
      return () => holder.query('select pg_advisory_unlock_all()')
    },
    async share(place, permits, onWaiting) {
      const client = others[place] as pg.Client
      const [mode, key] = permits === Infinity ? ['_shared', 0] : ['', place % permits]
      const granting = client.query(`select pg_advisory_lock${mode}($1)`, [key])
      onWaiting()
      await granting
      return () => client.query(`select pg_advisory_unlock${mode}($1)`, [key])
    },
    close: () => Promise.all(clients.map((client) => client.end())),
  }
}
