import { Etcd3 } from 'etcd3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Server, startEtcdCluster } from '../../../scripts/services/index.ts'
import { createLeases, type Lease, type StoreEvent } from '../../../src/core/index.ts'
import { etcdStore } from '../../../src/stores/etcd/index.ts'
import { eventually } from '../../eventually.ts'

let nodes: Server[]
let clients: Etcd3[]
beforeAll(async () => {
  nodes = await startEtcdCluster()
  const hosts = nodes.map(({ address }) => address.replace(/^etcd:/, 'http:'))
  clients = Array.from({ length: 2 }, () => new Etcd3({ hosts }))
})
afterAll(async () => {
  for (const client of clients) client.close()
  await Promise.all(nodes.map((node) => node.stop()))
})

it('leases outlive the death of one of three nodes: held, renewed, waited for and watched', async () => {
  const [near, far] = clients.map((client) => etcdStore(client)) as [
    ReturnType<typeof etcdStore>,
    ReturnType<typeof etcdStore>,
  ]
  const events: StoreEvent[] = []
  await far.watch((event) => events.push(event))
  const holding = createLeases(near, { ttl: 60_000, heartbeat: 500 })
  const waiting = createLeases(far, { ttl: 60_000, wait: Infinity })
  const lease = await holding.acquire('r')
  const turn = waiting.acquire('r')
  await eventually(async () => expect(await holding.waiting('r')).toHaveLength(1))
  await (await leaderOf(nodes)).stop()
  // It still is the same lease, for the whole cluster.
  await eventually(async () => expect(await far.read(['r'])).toMatchObject([[{ token: lease.token }]]))
  await eventually(() => lease.renew())
  expect(lease.held).toBe(true)
  await eventually(() => lease.release())
  const next: Lease = await turn
  expect(next.token).toBeGreaterThan(lease.token)
  await eventually(async () => {
    const held = events.some((event) => event.type === 'change' && event.lease.token === next.token)
    expect(held || events.some(({ type }) => type === 'gap')).toBe(true)
  })
  await eventually(() => next.release())
  await Promise.all([holding.close(), waiting.close()])
  await Promise.all([near.close(), far.close()])
})

/** Its death costs the cluster an election. */
async function leaderOf(servers: readonly Server[]): Promise<Server> {
  for (const server of servers) {
    const url = `${server.address.replace(/^etcd:/, 'http:')}/v3/maintenance/status`
    const { header, leader } = await (await fetch(url, { method: 'POST', body: '{}' })).json()
    if (header.member_id === leader) return server
  }
  throw new Error('no node is the leader')
}
