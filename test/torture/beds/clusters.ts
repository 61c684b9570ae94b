/** Clusters of three servers, of which one may be down. */
import { type Server, startEtcdCluster, startNatsCluster } from '../../../scripts/services/index.ts'
import type { Bed } from './bed.ts'

export async function openEtcd(): Promise<Bed> {
  const servers = await startEtcdCluster()
  return {
    ...bedOf(servers),
    address: (links) => `etcd://${links.join(',')}`,
    leader: () => leaderOfEtcd(servers),
  }
}

export async function openNats(): Promise<Bed> {
  const servers = await startNatsCluster()
  return { ...bedOf(servers), address: (links) => `nats://${links.join(',')}?replicas=${servers.length}` }
}

/** The shortest lease of etcd is one and a half times its election timeout of a second, in whole seconds. */
const TTL_MS = 2000

function bedOf(servers: readonly Server[]) {
  return {
    ttl: TTL_MS,
    nodes: servers,
    mayCrash: 1,
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

async function leaderOfEtcd(servers: readonly Server[]): Promise<Server> {
  for (const server of servers) {
    const url = `${server.address.replace(/^etcd:/, 'http:')}/v3/maintenance/status`
    const { header, leader } = await (await fetch(url, { method: 'POST', body: '{}' })).json()
    if (header.member_id === leader) return server
  }
  throw new Error('no server leads the cluster')
}
