import { Etcd3 } from 'etcd3'
import { afterAll, expect, it } from 'vitest'
import { etcdStore } from '../../../src/stores/etcd/index.ts'
import { asking } from '../asking.ts'

const { HOLDFAST_TEST_ETCD_URL: url = '' } = process.env
const client = new Etcd3({ hosts: url.replace(/^etcd:/, 'http:') })
afterAll(() => client.close())

/** After three failures in a row the client sends nothing for five seconds. */
const FAILURES = 3

it('a watch that its store has ended is no failure of the client, which other stores use', async () => {
  const prefix = `one-client-${crypto.randomUUID()}/`
  const stores = Array.from({ length: FAILURES }, () => etcdStore(client, { prefix }))
  for (const store of stores) await store.watch(() => {})
  await Promise.all(stores.map((store) => store.close()))
  // The client hears of it in a later turn.
  await new Promise((resolve) => setImmediate(resolve))
  await using store = etcdStore(client, { prefix })
  expect(await store.acquire(asking('a'))).toMatchObject({ granted: true })
})
