import { describe, expect, it } from 'vitest'
import { httpStore } from '../../src/client/http-store.ts'
import { createServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { describeStore } from '../../src/testing/index.ts'
import { cuttableProxy } from '../stores/cuttable-proxy.ts'

const TOKEN = 'a-token-of-a-worker'

describeStore('http', {
  runner: { describe, it },
  contention: 100,
  create: openPair,
  reopen: async ({ url, store }) => {
    await store.close()
    return httpStore(url, { token: TOKEN })
  },
  outage: async ({ proxy }) => {
    proxy.cut()
    return async () => proxy.mend()
  },
  interruptWatch: async ({ proxy }) => {
    proxy.cut()
    proxy.mend()
  },
})

describe('httpStore', () => {
  it('refuses what is no address', () => {
    expect(() => httpStore('not an address')).toThrow(/url: expected the address/)
  })

  it('says that the server wants a token', async () => {
    await using pair = await openPair()
    const store = httpStore(pair.url)
    await expect(store.acquire({ resource: 'r', id: 'a', owner: 'a', ttl: 1000 })).rejects.toMatchObject({
      code: 'store-failed',
      message: /403.*leaseTokens/,
    })
  })
})

/** Two stores at one server; the first goes through a proxy. */
async function openPair() {
  const settings = { port: 0, leaseTokens: [TOKEN], rate: 0, logLevel: 'silent' as const }
  const server = await createServer({ store: memoryStore(), settings })
  const proxy = await cuttableProxy('127.0.0.1', server.port)
  const store = httpStore(`http://${proxy.address}`, { token: TOKEN })
  const peer = httpStore(server.url, { token: TOKEN })
  const dispose = async () => {
    await Promise.all([store.close(), peer.close()])
    await proxy[Symbol.asyncDispose]()
    await server.stop()
  }
  return { url: server.url, proxy, store, peer, dispose, [Symbol.asyncDispose]: dispose }
}
