/** A process that takes a lease, says so, and ends as its parent orders. `argv`: the store, its place, options. */
import { createLeases } from '../../src/core/index.ts'
import { fileStore } from '../../src/stores/file/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'

const [, , kind, place = '', endsWithProcess, lockDelay = '0'] = process.argv
const store = kind === 'sqlite' ? sqliteStore(place) : fileStore(place)
const leases = createLeases(store, { ttl: '1h', endsWithProcess: endsWithProcess !== 'false' })
await leases.acquire('r', { lockDelay: Number(lockDelay) })

process.stdin.on('data', (order) => {
  if (String(order) === 'exit') process.exit(3)
  throw new Error('as ordered')
})
console.log('held')
