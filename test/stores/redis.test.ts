import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { redisStore } from '../../src/stores/redis/index.ts'
import { describeStore, FakeClock } from '../../src/testing/index.ts'
import { cuttableProxy } from '../../src/testing/node/cuttable-proxy.ts'
import { clientNames, clients, freshPrefix, HOLDFAST_TEST_REDIS_URL } from './redis/clients.ts'
import { timedClient } from './redis/timed-client.ts'

const SERVER = new URL(HOLDFAST_TEST_REDIS_URL)

for (const name of clientNames) {
  describeStore(name, {
    runner: { describe, it },
    create: async () => {
      const prefix = freshPrefix()
      const proxy = await cuttableProxy(SERVER.hostname, Number(SERVER.port))
      const [own, other] = await Promise.all([
        clients[name](`redis://${proxy.address}`),
        clients[name](HOLDFAST_TEST_REDIS_URL),
      ])
      const store = redisStore(own.client, { prefix })
      const peer = redisStore(other.client, { prefix })
      const dispose = async () => {
        await Promise.all([store.close(), peer.close()])
        for (const { close } of [own, other]) close()
        await proxy[Symbol.asyncDispose]()
      }
      return { store, peer, prefix, other, proxy, dispose }
    },
    reopen: async ({ store, other, prefix }) => {
      await store.close()
      return redisStore(other.client, { prefix })
    },
    outage: async ({ proxy, store }) => {
      proxy.cut()
      return async () => {
        proxy.mend()
        await expect.poll(() => store.read(['any'])).toEqual([[]])
      }
    },
    interruptWatch: async ({ proxy }) => {
      proxy.cut()
      proxy.mend()
    },
  })
}

/** Long enough for messages of the server to arrive. */
const PAUSE_MS = 5

describeStore('redis by the clock of the test', {
  runner: { describe, it },
  create: async () => {
    const clock = new FakeClock()
    const prefix = freshPrefix()
    const [own, other] = [1, 2].map(() => timedClient(HOLDFAST_TEST_REDIS_URL, clock))
    if (!own || !other) throw new Error('no clients')
    const [store, peer] = [redisStore(own.client, { prefix }), redisStore(other.client, { prefix })]
    const dispose = async () => {
      await Promise.all([store.close(), peer.close()])
      for (const { close } of [own, other]) close()
    }
    return { clock, store, peer, dispose }
  },
  pass: async ({ clock }, ms) => {
    await clock.advance(ms)
    await sleep(PAUSE_MS)
  },
  stepClock: ({ clock }, ms) => clock.jump(ms),
})
