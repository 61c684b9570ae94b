/** The script must answer any sequence of requests like the memory store, which is the reference. */
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import type { LeaseStore, StoreEvent } from '../../../src/core/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { ASKERS, acquisition, others, sweeping, World } from '../askers.ts'
import { freshPrefix, HOLDFAST_TEST_REDIS_URL } from './clients.ts'
import { timedClient } from './timed-client.ts'

const RUNS = 15
/** The memory store sweeps every queue, Redis only rows that are due. So no run has both waiters and sweeps. */
const scripts = {
  'while some wait': fc.oneof(acquisition, ...others),
  'while some sweep': fc.oneof(
    acquisition.map((ask) => ({ ...ask, waits: false })),
    sweeping,
    ...others,
  ),
}
it.each(Object.entries(scripts))('Redis answers like the memory store %s', async (_, action) => {
  const property = fc.asyncProperty(fc.array(action, { minLength: 30, maxLength: 60 }), async (actions) => {
    const clock = new FakeClock()
    const memory = memoryStore({ clock })
    const expected = new World(ASKERS.map(() => memory))
    await using redis = new RedisProcesses(clock)
    const actual = new World(redis.stores)
    await redis.delivered()
    for (const action of actions) {
      if (action.type === 'pass') await clock.advance(action.ms)
      else expect(await actual.do(action)).toEqual(await expected.do(action))
      await redis.delivered()
      expect(await actual.state()).toEqual(await expected.state())
    }
  })
  await fc.assert(property, { numRuns: RUNS })
})

/** One store for each asker, like separate processes. */
class RedisProcesses implements AsyncDisposable {
  readonly stores: readonly LeaseStore[]
  readonly #prefix = freshPrefix()
  readonly #admin = new Redis(HOLDFAST_TEST_REDIS_URL)
  readonly #clients
  readonly #watches
  #marks = 0
  #onMark: (id: string) => void = () => {}

  constructor(clock: FakeClock) {
    this.#clients = ASKERS.map(() => timedClient(HOLDFAST_TEST_REDIS_URL, clock))
    this.stores = this.#clients.map(({ client }) => redisStore(client, { prefix: this.#prefix }))
    const on = (event: StoreEvent) => event.type === 'change' && this.#onMark(event.lease.id)
    this.#watches = Promise.all(this.stores.map((store) => store.watch(on, { prefix: 'mark' })))
  }

  /** Resolves when every store has received a message that was sent after all others. */
  async delivered(): Promise<void> {
    await this.#watches
    const id = String(++this.#marks)
    const about = JSON.stringify({ resource: 'mark', id, owner: 'test', metadata: null })
    let left = ASKERS.length
    const heard = new Promise<void>((resolve) => {
      this.#onMark = (mark) => mark === id && --left === 0 && resolve()
    })
    await this.#admin.publish(`${this.#prefix}:changes`, `held F 1 1 1 1 1 - ${id} ${about}`)
    await heard
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.stores) await store.close()
    for (const { close } of this.#clients) close()
    this.#admin.disconnect()
  }
}
