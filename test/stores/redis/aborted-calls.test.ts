import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { startServer } from '../../../scripts/services/index.ts'
import { createLeases } from '../../../src/core/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { asking, granted } from '../asking.ts'
import { freshPrefix, HOLDFAST_TEST_REDIS_URL, openStore } from './clients.ts'

/** Leases whose requests reach the server at once, and whose answers can be delayed. */
function delayable(prefix: string, url = HOLDFAST_TEST_REDIS_URL) {
  const client = new Redis(url)
  let gate = Promise.withResolvers<void>()
  gate.resolve()
  let sent = 0
  const evaluated: unknown[] = []
  const delayed = new Proxy(client, {
    get(target, name) {
      const member = Reflect.get(target, name)
      if (name !== 'evalsha' && name !== 'eval') return member
      return async (...args: unknown[]) => {
        sent++
        if (name === 'eval') evaluated.push(...args)
        const [[answer]] = await Promise.all([Promise.allSettled([member.apply(target, args)]), gate.promise])
        if (answer?.status === 'rejected') throw answer.reason
        return answer?.value
      }
    },
  })
  const store = redisStore(delayed, { prefix })
  const leases = createLeases(store)
  return {
    client,
    store,
    leases,
    delayAnswers() {
      sent = 0
      gate = Promise.withResolvers()
    },
    deliverAnswers: () => gate.resolve(),
    sent: () => sent,
    /** The arguments of all `EVAL`, which follows an `EVALSHA` whose script the server does not know. */
    evaluated,
    async [Symbol.asyncDispose]() {
      await leases.close()
      await store.close()
      client.disconnect()
    },
  }
}

it('a caller that aborts before the store listens does not join the queue', async () => {
  await using other = await openStore()
  await using own = delayable(other.prefix)
  granted(await other.store.acquire(asking('r')))
  own.delayAnswers()
  const stop = new AbortController()
  const waiting = own.leases.acquire('r', { signal: stop.signal })
  await expect.poll(own.sent, { interval: 1 }).toBe(1)
  stop.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
  own.deliverAnswers()
  own.delayAnswers()
  // Longer than the store takes to see that the first caller has gone.
  await expect(own.leases.acquire('s', { wait: 300 })).rejects.toMatchObject({ code: 'store-unavailable' })
  own.deliverAnswers()
  const next = asking('r', { wake: () => {} })
  await expect.poll(() => other.store.acquire(next)).toMatchObject({ place: 0 })
})

it('a request whose caller has gone is not repeated when the server does not know the script', async () => {
  // Others would forget their scripts, too.
  await using server = await startServer('redis')
  await using own = delayable(freshPrefix(), server.address)
  // The server learns the scripts until the store sends only their hashes, and then forgets them.
  const usesHashes = async () => {
    own.evaluated.length = 0
    await own.store.read(['x', 'y', 'z'])
    return own.evaluated.length === 0
  }
  await expect.poll(usesHashes).toBe(true)
  await own.client.script('FLUSH')
  own.delayAnswers()
  const stop = new AbortController()
  const [first, second, third] = ['a', 'b', 'c'].map((name) =>
    own.leases.acquire(name, name === 'c' ? { signal: stop.signal } : {}),
  )
  await expect.poll(own.sent, { interval: 1 }).toBe(2)
  stop.abort()
  await expect(third).rejects.toMatchObject({ code: 'aborted' })
  own.deliverAnswers()
  await Promise.all([first, second])
  const acquired = own.evaluated.map((arg) => /"resource":"(.)"/.exec(String(arg))?.[1])
  expect(acquired).toContain('b')
  expect(acquired).not.toContain('c')
  expect(await own.leases.inspect('c')).toBeNull()
})
