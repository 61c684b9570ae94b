import { setTimeout } from 'node:timers/promises'
import { createLeases } from 'holdfast'
import { postgresStore } from 'holdfast/postgres'
import { Pool } from 'pg'

const pool = new Pool({ connectionString: 'postgres://app@localhost:5432/app' })
const leases = createLeases(postgresStore(pool))
const catalogue = new Map<string, number>()
let readers = 0
let mostReaders = 0

async function read() {
  await using lease = await leases.acquire('catalogue', { mode: 'shared' })
  readers++
  mostReaders = Math.max(mostReaders, readers)
  await setTimeout(50, undefined, { signal: lease.signal })
  readers--
  return catalogue.size
}
async function write(book: string) {
  return leases.withLease('catalogue', async (lease) => {
    if (readers > 0) throw new Error('a reader is there')
    catalogue.set(book, lease.token)
  })
}
await write('Momo')
const sizes = await Promise.all([read(), read(), read()])
await Promise.all([read(), write('Emil')])
console.log(sizes.join(' '), mostReaders > 1, catalogue.size)
await leases.close()
await pool.end()
