/** A process that closes everything, in the order of the docs, while a request is under way. `argv`: which request. */
import { Firestore } from '@google-cloud/firestore'
import { createLeases } from '../../../src/core/index.ts'
import { firestoreStore } from '../../../src/stores/firestore/index.ts'

const db = new Firestore({ projectId: 'holdfast-test' })
const store = firestoreStore(db, { collection: `leases-${crypto.randomUUID()}` })
const leases = createLeases(store)
const ask = { resource: 'r', id: 'a', owner: 'Mika', ttl: 60_000, lost: () => {} }

const REQUESTS: Record<string, () => unknown> = {
  inspect: () => void leases.inspect('r').catch(() => {}),
  list: () => void leases.list().catch(() => {}),
  acquire: () => void leases.acquire('r').catch(() => {}),
  sweep: () => void store.sweep({ limit: 10 }).catch(() => {}),
  watch: () => void store.watch(() => {}).catch(() => {}),
  async 'aborted read'() {
    const caller = new AbortController()
    const reading = store.read(['r'], { signal: caller.signal }).catch(() => {})
    caller.abort()
    await reading
  },
  async 'check of a held lease'() {
    await store.acquire(ask)
    await store.watch(() => {})
  },
}

await REQUESTS[process.argv[2] ?? '']?.()
await leases.close()
await store.close()
await db.terminate()
