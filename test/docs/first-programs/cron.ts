// Started by the cron of every machine.
import { createLeases } from 'holdfast'
import { mysqlStore } from 'holdfast/mysql'
import { createPool } from 'mysql2/promise'

const pool = createPool('mysql://app@localhost:3306/app')

async function machine(name: string) {
  const leases = createLeases(mysqlStore(pool), { owner: name })
  const nightly = await leases.tryWithLease('nightly-report', async () => 'report made', { atLeast: '5m' })
  await leases.close()
  if (nightly.ran) return nightly.result
  return nightly.keptFor ? 'made already' : `${nightly.holder?.owner} makes it`
}
console.log(await machine('first'))
console.log(await machine('second'))
await pool.end()
