import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { createLeases } from '../../../src/core/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { asking, granted } from '../asking.ts'
import { freshPrefix, HOLDFAST_TEST_REDIS_URL, openStore } from './clients.ts'

/** Leases whose calls are carried out at once, and whose answers can be kept back. */
function withheld(prefix: string) {
  const client = new Redis(HOLDFAST_TEST_REDIS_URL)
  let gate = Promise.withResolvers<void>()
  gate.resolve()
  let sent = 0
  const kept = new Proxy(client, {
    get(target, name) {
      const member = Reflect.get(target, name)
      if (name !== 'evalsha' && name !== 'eval') return member
      return async (...args: unknown[]) => {
        sent++
        const [[answer]] = await Promise.all([Promise.allSettled([member.apply(target, args)]), gate.promise])
        if (answer?.status === 'rejected') throw answer.reason
        return answer?.value
      }
    },
  })
  const store = redisStore(kept, { prefix })
  const leases = createLeases(store)
  return {
    leases,
    shut() {
      sent = 0
      gate = Promise.withResolvers()
    },
    open: () => gate.resolve(),
    sent: () => sent,
    async [Symbol.asyncDispose]() {
      await leases.close()
      await store.close()
      client.disconnect()
    },
  }
}

it('does not stand in line for a caller that gave up before it listened', async () => {
  await using other = await openStore()
  await using own = withheld(other.prefix)
  granted(await other.store.acquire(asking('r')))
  own.shut()
  const stop = new AbortController()
  const waiting = own.leases.acquire('r', { signal: stop.signal })
  await expect.poll(own.sent, { interval: 1 }).toBe(1)
  stop.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
  own.open()
  own.shut()
  // Longer than until the store looks who has given up.
  await expect(own.leases.acquire('s', { wait: 300 })).rejects.toMatchObject({ code: 'store-unavailable' })
  own.open()
  const next = asking('r', { wake: () => {} })
  await expect.poll(() => other.store.acquire(next)).toMatchObject({ place: 0 })
})

it('does not ask again, with a script that the server lacks, for a caller that gave up', async () => {
  await using own = withheld(freshPrefix())
  // The script for one operation is known then, that for several is not.
  await (await own.leases.acquire('known')).release()
  own.shut()
  const stop = new AbortController()
  const [first, second, third] = ['a', 'b', 'c'].map((name) =>
    own.leases.acquire(name, name === 'c' ? { signal: stop.signal } : {}),
  )
  await expect.poll(own.sent, { interval: 1 }).toBe(2)
  stop.abort()
  await expect(third).rejects.toMatchObject({ code: 'aborted' })
  own.open()
  await Promise.all([first, second])
  expect(await own.leases.inspect('c')).toBeNull()
})
