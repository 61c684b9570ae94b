import { Etcd3 } from 'etcd3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Server, startServer } from '../../../scripts/services/index.ts'
import { createLeases } from '../../../src/core/index.ts'
import { etcdStore } from '../../../src/stores/etcd/index.ts'

/** More than are renewed at once. */
const COUNT = 200

let server: Server
let client: Etcd3
beforeAll(async () => {
  server = await startServer('etcd')
  client = new Etcd3({ hosts: server.address.replace(/^etcd:/, 'http:') })
})
afterAll(async () => {
  client.close()
  await server.stop()
})

it('many leases are renewed at once after a pause of the server, while the breaker of the client is open', async () => {
  const store = etcdStore(client)
  const leases = createLeases(store, { ttl: 600_000, wait: Infinity })
  const names = Array.from({ length: COUNT }, (_, n) => `held:${n}`)
  const held = await Promise.all(names.map((name) => leases.acquire(name)))
  server.freeze()
  const readByHand = () => client.get('any').options({ deadline: Date.now() }).exec()
  await expect.poll(() => readByHand().catch(String)).toContain('circuit breaker is open')
  server.thaw()
  await Promise.all(held.map((lease) => lease.renew()))
  await leases.close()
  await store.close()
})
