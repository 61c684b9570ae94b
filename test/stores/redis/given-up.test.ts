import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { createLeases } from '../../../src/core/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { asking, granted } from '../asking.ts'
import { freshPrefix, HOLDFAST_TEST_REDIS_URL, openStore } from './clients.ts'

/** So late that a caller can give up before, and yet before the store looks after its calls. */
const ANSWER_MS = 40

function slowLeases(prefix: string) {
  const client = new Redis(HOLDFAST_TEST_REDIS_URL)
  const slow = new Proxy(client, {
    get(target, name) {
      const member = Reflect.get(target, name)
      if (name !== 'evalsha' && name !== 'eval') return member
      return async (...args: unknown[]) => {
        const [answer] = await Promise.allSettled([member.apply(target, args), sleep(ANSWER_MS)])
        if (answer.status === 'rejected') throw answer.reason
        return answer.value
      }
    },
  })
  const store = redisStore(slow, { prefix })
  const leases = createLeases(store)
  return {
    leases,
    async [Symbol.asyncDispose]() {
      await leases.close()
      await store.close()
      client.disconnect()
    },
  }
}

it('does not stand in line for a caller that gave up before it listened', async () => {
  await using other = await openStore()
  await using slow = slowLeases(other.prefix)
  granted(await other.store.acquire(asking('r')))
  const stop = new AbortController()
  const waiting = slow.leases.acquire('r', { signal: stop.signal })
  setTimeout(() => stop.abort(), ANSWER_MS / 4)
  await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
  await sleep(5 * ANSWER_MS)
  expect(await other.store.acquire(asking('r', { wake: () => {} }))).toMatchObject({ place: 0 })
})

it('does not ask again, with a script that the server lacks, for a caller that gave up', async () => {
  await using slow = slowLeases(freshPrefix())
  // The script for one operation is known then, that for several is not.
  await (await slow.leases.acquire('known')).release()
  const stop = new AbortController()
  const [first, second, third] = ['a', 'b', 'c'].map((name) =>
    slow.leases.acquire(name, name === 'c' ? { signal: stop.signal } : {}),
  )
  setTimeout(() => stop.abort(), ANSWER_MS / 4)
  await expect(third).rejects.toMatchObject({ code: 'aborted' })
  await Promise.all([first, second])
  await sleep(2 * ANSWER_MS)
  expect(await slow.leases.inspect('c')).toBeNull()
})
