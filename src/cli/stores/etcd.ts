import { type LeaseError, messageOf } from '../../base/errors.ts'
import { isAccessDenied } from '../../clients/etcd-errors.ts'
import { etcdStore } from '../../stores/etcd/index.ts'
import { usageFailure } from '../failure.ts'
import { CONNECT_LIMIT_MS } from '../options.ts'
import { accessDenied, type BackendWarning, loadClient, type OpenedStore, optional } from './opened-store.ts'

/** Several hosts are not a URL for `URL`. */
const ADDRESS =
  /^etcds?:\/\/(?:(?<user>[^:@/?#]*)(?::(?<password>[^@/?#]*))?@)?(?<hosts>[^@/?#]+)\/?(?<query>\?[^#]*)?$/

export async function openEtcd(address: string): Promise<OpenedStore> {
  const { user, password, hosts = '', query } = ADDRESS.exec(address)?.groups ?? {}
  if (!hosts) throw usageFailure('expected an address such as etcd://a:2379,b:2379,c:2379')
  const prefix = new URLSearchParams(query).get('prefix')
  const { Etcd3 } = await loadClient('etcd', { etcd3: () => import('etcd3') })
  const protocol = address.startsWith('etcds:') ? 'https' : 'http'
  const client = new Etcd3({
    hosts: hosts.split(',').map((host) => `${protocol}://${host}`),
    dialTimeout: CONNECT_LIMIT_MS,
    ...(user && {
      auth: { username: decodeURIComponent(user), password: decodeURIComponent(password ?? '') },
    }),
  })
  const store = etcdStore(client, optional('prefix', prefix))
  const close = async () => {
    await store.close()
    client.close()
  }
  // Fails now if the cluster cannot be reached or refuses us. Later calls of the store retry instead.
  await store.read(['-']).catch(async (error: LeaseError) => {
    await close().catch(() => {})
    throw isAccessDenied(error.cause) ? accessDenied(messageOf(error.cause), 'etcd', error.cause) : error
  })
  return {
    store,
    close,
    async jobs() {
      const { etcdJobs } = await import('../../once/index.ts')
      return etcdJobs(client, { prefix: `${prefix ?? 'holdfast/'}jobs/` })
    },
    async serverParts() {
      const { etcdShared } = await import('../../server/parts.ts')
      return etcdShared(client, { prefix: prefix ?? undefined })
    },
    async backendInfo() {
      const [{ version }, { members }] = await Promise.all([
        client.maintenance.status(),
        client.cluster.memberList({ linearizable: false }),
      ])
      const warnings = members.length >= CONSENSUS ? [] : [alone(members.length)]
      return { version: `etcd ${version} through etcd3`, warnings }
    },
  }
}

/** A smaller cluster does not outlive the loss of a member. */
const CONSENSUS = 3

function alone(members: number): BackendWarning {
  return {
    text: `the cluster has ${members === 1 ? 'one member' : `${members} members`}, and no lease outlives the loss of one`,
    remedy: 'run three or five members',
  }
}
