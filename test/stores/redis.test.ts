import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { REDIS_COMMANDS } from '../../src/clients/redis-commands.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { describeStore, FakeClock, skewDate } from '../../src/testing/index.ts'
import { cuttableProxy } from '../../src/testing/node/cuttable-proxy.ts'
import { noticesMistake } from './notices-mistake.ts'
import { clientNames, clients, freshPrefix, HOLDFAST_TEST_REDIS_URL } from './redis/clients.ts'
import { timedClient } from './redis/timed-client.ts'

const SERVER = new URL(HOLDFAST_TEST_REDIS_URL)

/** May do exactly what docs/stores/redis.md says, and name its connection, which only the tests do. */
const leastUser = freshPrefix()
const admin = new Redis(HOLDFAST_TEST_REDIS_URL, { lazyConnect: true })
beforeAll(async () => {
  const commands = [...REDIS_COMMANDS.leases, 'info', 'client|setname'].map((command) => `+${command}`)
  await admin.call('ACL', 'SETUSER', leastUser, 'on', '>secret', '~test-*', '&test-*', ...commands)
})
afterAll(async () => {
  await admin.call('ACL', 'DELUSER', leastUser)
  admin.disconnect()
})

for (const name of clientNames) {
  const options = {
    runner: { describe, it },
    create: () => openPair(name),
    skewCaller: (_: unknown, ms: number) => skewDate(ms),
    reopen: async ({ store, other, prefix }: Pair) => {
      await store.close()
      return redisStore(other.client, { prefix })
    },
    outage: async ({ proxy, store }: Pair) => {
      proxy.cut()
      return async () => {
        proxy.mend()
        await expect.poll(() => store.read(['any'])).toEqual([[]])
      }
    },
    interruptWatch: async ({ proxy }: Pair) => {
      proxy.cut()
      proxy.mend()
    },
  }
  describeStore(name, options)
  noticesMistake(name, 'expiry by the clock of the caller', options)
}

type Pair = Awaited<ReturnType<typeof openPair>>

/** A store whose connection can be cut, and a peer. */
async function openPair(name: (typeof clientNames)[number]) {
  const prefix = freshPrefix()
  const proxy = await cuttableProxy(SERVER.hostname, Number(SERVER.port))
  const [own, other] = await Promise.all([
    clients[name](`redis://${leastUser}:secret@${proxy.address}`),
    clients[name](HOLDFAST_TEST_REDIS_URL.replace('://', `://${leastUser}:secret@`)),
  ])
  const store = redisStore(own.client, { prefix })
  const peer = redisStore(other.client, { prefix })
  const dispose = async () => {
    await Promise.all([store.close(), peer.close()])
    for (const { close } of [own, other]) close()
    await proxy[Symbol.asyncDispose]()
  }
  return { store, peer, prefix, other, proxy, dispose }
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
