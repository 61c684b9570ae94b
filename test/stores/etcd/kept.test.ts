import { Etcd3 } from 'etcd3'
import { afterAll, expect, it } from 'vitest'
import { etcdStore } from '../../../src/stores/etcd/index.ts'
import { asking } from '../asking.ts'

const { HOLDFAST_TEST_ETCD_URL: url = '' } = process.env
const client = new Etcd3({ hosts: url.replace(/^etcd:/, 'http:') })
afterAll(() => client.close())

it('a lease that has ended still keeps the resource when its id has acquired it again', async () => {
  const prefix = `kept-${crypto.randomUUID()}/`
  await using store = etcdStore(client, { prefix })
  const ask = asking('r', { id: 'a', share: 2 })
  await store.acquire({ ...ask, atLeast: 600_000 })
  await store.release(ask)
  expect(await store.acquire(ask)).toMatchObject({ granted: true })
  const other = await store.acquire({ ...ask, id: 'b' })
  expect(other).toMatchObject({ granted: false, holders: [{ id: 'a' }], keptFor: expect.any(Number) })
  expect(await store.acquire({ ...ask, id: 'b', share: 3 })).toMatchObject({ granted: false })
  await store.release(ask)
  expect(await store.acquire({ ...ask, id: 'b' })).toMatchObject({ granted: true })
})
