/**
 * The transactions must answer any sequence of requests like the memory store, which is the reference. Only etcd can
 * let time pass, so nothing expires here, and nobody waits.
 */
import { Etcd3 } from 'etcd3'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import type { Ask, LeaseRecord, LeaseStore } from '../../../src/core/index.ts'
import { etcdStore } from '../../../src/stores/etcd/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'

const { HOLDFAST_TEST_ETCD_URL: url = '' } = process.env
const client = new Etcd3({ hosts: url.replace(/^etcd:/, 'http:') })
afterAll(() => client.close())

const RUNS = 10
const TTL_MS = 600_000
const RESOURCES = ['a', 'b']
const STORES = 3

const [by, resource] = [fc.nat(5), fc.constantFrom('a', 'a', 'a', 'b')]
const action = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('acquire' as const),
      by,
      resource,
      share: fc.constantFrom(undefined, 2, 3, 3, Infinity, Infinity),
      replace: fc.oneof(
        { weight: 9, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.constantFrom('newest' as const, 'any' as const) },
      ),
      metadata: fc.constantFrom(undefined, { user: 'Mika' }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('release' as const), by, resource }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('renew' as const), by, resource }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('force' as const), by, resource }) },
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

it('etcd answers like the memory store', async () => {
  const property = fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 40 }), async (actions) => {
    const prefix = `same-${crypto.randomUUID()}/`
    const stores = Array.from({ length: STORES }, () => etcdStore(client, { prefix }))
    const [actual, expected] = [new World(stores), new World([memoryStore()])]
    try {
      for (const action of actions) {
        expect(await actual.do(action)).toEqual(await expected.do(action))
        expect(await actual.state()).toEqual(await expected.state())
      }
    } finally {
      for (const store of stores) await store.close()
      await client.delete().prefix(prefix)
    }
  })
  await fc.assert(property, { numRuns: RUNS })
})

/** The stores of all callers, as separate processes have them, and the tokens that were seen. */
class World {
  readonly #stores: readonly LeaseStore[]
  readonly #tokens: number[] = [0]

  constructor(stores: readonly LeaseStore[]) {
    this.#stores = stores
  }

  async do(action: Action): Promise<unknown> {
    const { by, resource } = action
    const id = `caller ${by}`
    const store = this.#storeOf(by)
    const [holders = []] = await store.read([resource])
    const newest = holders.at(-1)?.token ?? 0
    if (action.type === 'release') return this.#shown((await store.release({ resource, id })).ended)
    if (action.type === 'force') return this.#shown((await store.release({ resource, token: newest })).ended)
    if (action.type === 'renew') {
      const renewal = await store.renew({ resource, id, ttl: TTL_MS })
      return renewal.ok ? this.#shown(renewal.lease) : renewal.holders.map((lease) => this.#shown(lease))
    }
    const { share, replace, metadata } = action
    const ask: Ask = { resource, id, owner: id, ttl: TTL_MS, share, metadata }
    const answer = await store.acquire({ ...ask, replace: replace === 'newest' ? newest : replace })
    return answer.granted
      ? { lease: this.#shown(answer.lease), replaced: this.#shown(answer.replaced) }
      : { holders: answer.holders.map((lease) => this.#shown(lease)), place: answer.place }
  }

  async state(): Promise<unknown> {
    const store = this.#storeOf(0)
    const read = (await store.read(RESOURCES)).map((leases) => leases.map((lease) => this.#shown(lease)))
    const { leases, next } = await store.list({ limit: 100 })
    return { read, listed: leases.map((lease) => this.#shown(lease)), next }
  }

  #storeOf(by: number): LeaseStore {
    return this.#stores[by % this.#stores.length] as LeaseStore
  }

  /** Without times, and with a number for its token, since their values differ; a new one must be the highest. */
  #shown(lease: LeaseRecord | null | undefined): unknown {
    if (!lease) return null
    const { acquiredAt: _, expiresAt: __, remaining: ___, token, ...rest } = lease
    if (!this.#tokens.includes(token)) {
      expect(token).toBeGreaterThan(this.#tokens.at(-1) ?? 0)
      this.#tokens.push(token)
    }
    return { ...rest, token: this.#tokens.indexOf(token) }
  }
}
