import { Etcd3 } from 'etcd3'
import { afterAll, describe, it } from 'vitest'
import { etcdStore } from '../../src/stores/etcd/index.ts'
import { describeStore, skewDate } from '../../src/testing/index.ts'
import { type CuttableProxy, cuttableProxy } from '../../src/testing/node/cuttable-proxy.ts'
import { noticesMistake } from './notices-mistake.ts'

const { HOLDFAST_TEST_ETCD_URL: url = '' } = process.env
const hosts = url.replace(/^etcd:/, 'http:')
const admin = new Etcd3({ hosts })
afterAll(() => admin.close())

/** etcd counts in seconds, and deletes what has expired up to a second later. */
const TTL_MS = 1000
const LATE_MS = 1000

const options = {
  runner: { describe, it },
  create: openPair,
  ttl: TTL_MS,
  contention: 50,
  pass: (_: unknown, ms: number) =>
    new Promise<void>((resolve) => setTimeout(resolve, ms > TTL_MS / 2 ? ms + LATE_MS : ms)),
  reopen: async ({ open }: Pair) => open(),
  outage: cut,
  interruptWatch: loseHistory,
  skewCaller: (_: unknown, ms: number) => skewDate(ms),
}
describeStore('etcd', options)
noticesMistake('etcd', 'expiry by the clock of the caller', options)

type Pair = Awaited<ReturnType<typeof openPair>>

/** A store whose connection can be cut, and a peer. */
async function openPair() {
  const { hostname, port } = new URL(hosts)
  const proxy = await cuttableProxy(hostname, Number(port))
  const near = new Etcd3({ hosts: `http://${proxy.address}` })
  const far = new Etcd3({ hosts })
  const prefix = `conformance-${crypto.randomUUID()}/`
  const open = () => etcdStore(near, { prefix })
  const store = open()
  const peer = etcdStore(far, { prefix })
  return {
    proxy,
    store,
    peer,
    open,
    async dispose() {
      await Promise.all([store.close(), peer.close()])
      near.close()
      far.close()
      await proxy[Symbol.asyncDispose]()
      await admin.delete().prefix(prefix)
    },
  }
}

async function cut({ proxy }: { readonly proxy: CuttableProxy }): Promise<() => Promise<void>> {
  proxy.cut()
  return async () => proxy.mend()
}

/** The watch would go on where it broke off, but etcd does not know any more what happened then. */
async function loseHistory({ proxy, peer }: Pair): Promise<void> {
  proxy.cut()
  const ask = { resource: 'unseen', id: crypto.randomUUID(), owner: 'Mika', ttl: 600_000 }
  await peer.acquire(ask)
  await peer.release({ resource: 'unseen', id: ask.id })
  const { header } = await admin.kv.range({ key: Buffer.from('x') })
  await admin.kv.compact({ revision: header.revision, physical: true })
  proxy.mend()
}
