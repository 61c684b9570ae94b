import { createLeases, LeaseError } from 'holdfast'
import { guardTable, postgresGuard } from 'holdfast/guard'
import { postgresStore } from 'holdfast/postgres'
import { Pool } from 'pg'

const pool = new Pool({ connectionString: 'postgres://app@localhost:5432/app' })
await pool.query(guardTable())
await pool.query('CREATE TABLE invoice (id int PRIMARY KEY, total int)')
await pool.query('INSERT INTO invoice VALUES (42, 0)')

const leases = createLeases(postgresStore(pool))
const guard = postgresGuard(pool)

const paused = await leases.acquire('invoice:42')
await leases.release('invoice:42', { token: paused.token }) // an administrator frees it

await leases.withLease('invoice:42', async (lease) => {
  await guard.write(lease, async (tx) => {
    await tx.query('UPDATE invoice SET total = $1 WHERE id = $2', [34, 42])
  })
})
try {
  // The paused holder wakes up and goes on.
  await guard.write(pool, paused, async (tx) => {
    await tx.query('UPDATE invoice SET total = $1 WHERE id = $2', [33, 42])
  })
} catch (error) {
  if (!LeaseError.is(error, 'stale-token')) throw error
  console.log(error.code)
}
try {
  await guard.check(paused)
} catch (error) {
  if (LeaseError.is(error)) console.log(error.code)
}
const { rows } = await pool.query<{ total: number }>('SELECT total FROM invoice')
console.log(rows[0]?.total)
await leases.close()
await pool.end()
