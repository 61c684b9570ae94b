import { setInterval } from 'node:timers/promises'
import { createLeases } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'

const store = sqliteStore('./leader.db')
const stop = new AbortController()

async function node(name: string) {
  await using leases = createLeases(store, { owner: name })
  leases.subscribe((event) => {
    if (event.type === 'acquired') console.log(`${event.owner} leads`)
  })
  await leases.lead(
    'scheduler',
    async (lease, signal) => {
      let ticks = 0
      for await (const _ of setInterval(10, undefined, { signal })) {
        if (!lease.held) break
        if (++ticks === 3) stop.abort()
      }
    },
    { signal: stop.signal },
  )
  console.log('stopped')
}
await Promise.all([node('a'), node('b')])
await store.close()
