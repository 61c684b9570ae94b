/** Whatever is asked, in whatever order, the script must answer as the memory store does, which is the reference. */
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import type { LeaseRecord, LeaseStore, StoreEvent } from '../../../src/core/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { freshPrefix, HOLDFAST_TEST_REDIS_URL } from './clients.ts'
import { timedClient } from './timed.ts'

const RUNS = 60
const ASKERS = [0, 1, 2]

const asker = fc.constantFrom(...ASKERS)
const resource = fc.constantFrom('a', 'a', 'a', 'b')
const ttl = fc.constantFrom(50, 1000, 5000)
const metadata = fc.constantFrom(null, { user: 'Mika' })
const [waits, takesOver] = [fc.boolean(), fc.boolean()]
const ms = fc.constantFrom(1, 60, 999)

const acquire = fc.record({
  type: fc.constant('acquire' as const),
  ...{ asker, resource, ttl, metadata, waits, takesOver },
})
const common = [
  fc.record({ type: fc.constant('release' as const), asker, resource }),
  fc.record({ type: fc.constant('renew' as const), asker, resource, ttl }),
  fc.record({ type: fc.constant('force' as const), asker, resource }),
  fc.record({ type: fc.constant('pass' as const), ms }),
]
const sweep = fc.record({ type: fc.constant('sweep' as const), asker })

/** A sweep of the memory store looks at every line, one of Redis only at what is due: so not both in one run. */
const scripts = {
  'while some wait': fc.oneof(acquire, ...common),
  'while some sweep': fc.oneof(
    acquire.map((ask) => ({ ...ask, waits: false })),
    sweep,
    ...common,
  ),
}
type Action =
  typeof sweep | typeof acquire | (typeof common)[number] extends fc.Arbitrary<infer T> ? T : never

it.each(Object.entries(scripts))(
  'answers as the memory store does %s',
  { timeout: 120_000 },
  async (_, action) => {
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
  },
)

/** A store for each asker, as each process has its own. */
class RedisProcesses implements AsyncDisposable {
  readonly stores: readonly LeaseStore[]
  readonly #prefix = freshPrefix()
  readonly #admin = new Redis(HOLDFAST_TEST_REDIS_URL)
  readonly #clients
  readonly #heard: string[] = []
  readonly #watches
  #marks = 0

  constructor(clock: FakeClock) {
    this.#clients = ASKERS.map(() => timedClient(HOLDFAST_TEST_REDIS_URL, clock))
    this.stores = this.#clients.map(({ client }) => redisStore(client, { prefix: this.#prefix }))
    const on = (event: StoreEvent) => event.type === 'change' && this.#heard.push(event.lease.id)
    this.#watches = Promise.all(this.stores.map((store) => store.watch(on, { prefix: 'mark' })))
  }

  /** Until every store has heard a message that was sent after all others. */
  async delivered(): Promise<void> {
    await this.#watches
    const id = String(++this.#marks)
    const about = JSON.stringify({ resource: 'mark', id, owner: 'test', metadata: null })
    await this.#admin.publish(`${this.#prefix}:changes`, `held F 1 1 1 1 1 - ${id} ${about}`)
    const count = () => this.#heard.filter((heard) => heard === id).length
    while (count() < ASKERS.length) await new Promise(setImmediate)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.stores) await store.close()
    for (const { close } of this.#clients) close()
    this.#admin.disconnect()
  }
}

/** The stores of all askers, and the tokens that were seen. */
class World {
  readonly #stores: readonly LeaseStore[]
  readonly #tokens = new Map([
    ['a', [0]],
    ['b', [0]],
  ])
  /** Who waits and has been told to ask again. */
  readonly #called = new Set<string>()

  constructor(stores: readonly LeaseStore[]) {
    this.#stores = stores
  }

  async do(action: Exclude<Action, { type: 'pass' }>): Promise<unknown> {
    return this.#show(await this.#call(action, this.#stores[action.asker] as LeaseStore))
  }

  async state(): Promise<unknown> {
    const [store] = this.#stores as [LeaseStore]
    const leases = [await store.read(['a', 'b']), await store.list({ limit: 10 })]
    return this.#show({ leases, called: [...this.#called].sort() })
  }

  async #call(action: Exclude<Action, { type: 'pass' }>, store: LeaseStore): Promise<unknown> {
    if (action.type === 'sweep') {
      const swept = await store.sweep({ limit: 10 })
      return swept.toSorted((one, other) => (one.resource < other.resource ? -1 : 1))
    }
    const { resource } = action
    const id = `asker ${action.asker} for ${resource}`
    const token = this.#tokens.get(resource)?.at(-1) ?? 0
    if (action.type === 'release') return store.release({ resource, id })
    if (action.type === 'force') return store.release({ resource, token })
    if (action.type === 'renew') return store.renew({ resource, id, ttl: action.ttl })
    this.#called.delete(id)
    const wake = (inMs: number) => inMs === 0 && this.#called.add(id)
    return store.acquire({
      ...{ resource, id, owner: id, ttl: action.ttl, lost: () => {} },
      ...(action.metadata && { metadata: action.metadata }),
      ...(action.waits && { wake }),
      ...(action.takesOver && { replace: token }),
    })
  }

  /** With numbers for tokens, since their values may differ; a new one must be the highest. */
  #show(value: unknown): unknown {
    const tokens = this.#tokens
    return JSON.parse(
      JSON.stringify(value, function (this: LeaseRecord, key, inner) {
        const seen = key === 'token' && tokens.get(this.resource)
        if (!seen) return inner
        if (!seen.includes(inner)) {
          expect(inner).toBeGreaterThan(seen.at(-1) ?? 0)
          seen.push(inner)
        }
        return seen.indexOf(inner)
      }),
    )
  }
}
