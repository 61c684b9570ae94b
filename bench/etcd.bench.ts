/** Leases on etcd beside a bare transaction, and the locks and elections of etcd3. */
import { startServices } from '../scripts/services/index.ts'
import { benchContended } from './etcd/contended.ts'
import { benchUncontended } from './etcd/uncontended.ts'

export async function run(): Promise<void> {
  await using services = await startServices(['etcd'])
  const { HOLDFAST_TEST_ETCD_URL: address = '' } = services.environment
  const url = address.replace(/^etcd:/, 'http:')
  await benchUncontended(url)
  await benchContended(url)
}
