// One at a time: two processes' worth of callers change one file.
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { createLeases, LeaseError } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'

const directory = await mkdtemp(join(tmpdir(), 'mutex-'))
const file = join(directory, 'counter.txt')
await writeFile(file, '0')

const store = sqliteStore(join(directory, 'locks.db'))
const leases = createLeases(store, { ttl: '20s', wait: '30s' })

async function increment() {
  await leases.withLease('counter', async (_lease, signal) => {
    const count = Number(await readFile(file, { encoding: 'utf8', signal }))
    await setTimeout(10, undefined, { signal })
    await writeFile(file, String(count + 1), { signal })
  })
}
await Promise.all(Array.from({ length: 20 }, increment))
console.log(await readFile(file, 'utf8'))

{
  await using lease = await leases.acquire('counter', { metadata: { user: 'Mika' } })
  const other = createLeases(store, { owner: 'other' })
  try {
    await other.acquire('counter', { wait: '100ms' })
  } catch (error) {
    if (!LeaseError.is(error, 'lease-held')) throw error
    console.log(error.holder?.owner === lease.owner, error.holder?.metadata)
  }
  const tried = await other.tryWithLease('counter', async () => 'ran')
  console.log(tried.ran ? tried.result : `held by ${tried.holder?.metadata?.user}`)
  await other.close()
}
await leases.close()
await store.close()
