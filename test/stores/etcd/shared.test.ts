import { Etcd3 } from 'etcd3'
import { afterAll, expect, it, vi } from 'vitest'
import { createLeases } from '../../../src/core/index.ts'
import { type EtcdClient, etcdStore } from '../../../src/stores/etcd/index.ts'
import { partsOf } from './odd-clients.ts'

const { HOLDFAST_TEST_ETCD_URL: url = '' } = process.env
const client = new Etcd3({ hosts: url.replace(/^etcd:/, 'http:') })
afterAll(() => client.close())

const COUNT = 100
/** A look, a grant, and what finds out why a grant failed. */
const TRANSACTIONS_EACH = 4

it('a hundred shared leases of one name are acquired and released at once, with few requests for each', async () => {
  let transactions = 0
  const questions = vi.spyOn(client.leaseClient, 'leaseTimeToLive')
  const txn = (...args: Parameters<Etcd3['kv']['txn']>) => {
    transactions++
    return client.kv.txn(...args)
  }
  const counted = { ...partsOf(client), kv: { txn } } as unknown as EtcdClient
  await using store = etcdStore(counted, { prefix: `shared-${crypto.randomUUID()}/` })
  const leases = createLeases(store, { ttl: 600_000, wait: Infinity })
  const acquiring = Array.from({ length: COUNT }, () => leases.acquire('r', { share: Infinity }))
  const held = await Promise.all(acquiring)
  expect(new Set(held.map(({ token }) => token)).size).toBe(COUNT)
  expect(transactions).toBeLessThan(TRANSACTIONS_EACH * COUNT)
  await leases.close()
  expect(await store.read(['r'])).toEqual([[]])
  expect(questions).not.toHaveBeenCalled()
})
