/** The script must answer any sequence of requests like the memory store, which is the reference. */
import { Redis } from 'ioredis'
import { it } from 'vitest'
import type { LeaseStore, StoreEvent } from '../../../src/core/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import type { FakeClock } from '../../../src/testing/index.ts'
import { expectSameAsMemory, type Processes } from '../same-as-memory.ts'
import { freshPrefix, HOLDFAST_TEST_REDIS_URL } from './clients.ts'
import { timedClient } from './timed-client.ts'

/** The memory store sweeps every queue, Redis only rows that are due. So no run has both waiters and sweeps. */
const cases = [
  { title: 'while some wait', waits: true, sweeps: false },
  { title: 'while some sweep', waits: false, sweeps: true },
]
it.each(cases)('Redis answers like the memory store $title', async ({ waits, sweeps }) => {
  await expectSameAsMemory({
    runs: 15,
    usesClock: true,
    waits,
    together: true,
    sweeps,
    open: (count, clock) => new RedisProcesses(count, clock),
  })
})

/** Stores like those of separate processes. */
class RedisProcesses implements Processes {
  readonly stores: readonly LeaseStore[]
  readonly #prefix = freshPrefix()
  readonly #admin = new Redis(HOLDFAST_TEST_REDIS_URL)
  readonly #clients
  readonly #watches
  #marks = 0
  #onMark: (id: string) => void = () => {}

  constructor(count: number, clock: FakeClock) {
    this.#clients = Array.from({ length: count }, () => timedClient(HOLDFAST_TEST_REDIS_URL, clock))
    this.stores = this.#clients.map(({ client }) => redisStore(client, { prefix: this.#prefix }))
    const on = (event: StoreEvent) => event.type === 'change' && this.#onMark(event.lease.id)
    this.#watches = Promise.all(this.stores.map((store) => store.watch(on, { prefix: 'mark' })))
  }

  /** Resolves when every store has received a message that was sent after all others. */
  async delivered(): Promise<void> {
    await this.#watches
    const id = String(++this.#marks)
    const about = JSON.stringify({ resource: 'mark', id, owner: 'test', metadata: null })
    let left = this.stores.length
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
