/** What may be asked of a store, in any order, and how its answers are compared with those of the memory store. */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { LeasePage, LeaseRecord, LeaseStore } from '../../src/core/index.ts'

export const ASKERS = [0, 1, 2]

const asker = fc.constantFrom(...ASKERS)
const resource = fc.constantFrom('a', 'a', 'a', 'b')
const ttl = fc.constantFrom(50, 1000, 5000)
const metadata = fc.constantFrom(null, { user: 'Mika' })
const [waits, takesOver] = [fc.boolean(), fc.boolean()]
const ms = fc.constantFrom(1, 60, 999)

export const acquisition = fc.record({
  type: fc.constant('acquire' as const),
  ...{ asker, resource, ttl, metadata, waits, takesOver },
})
export const sweeping = fc.record({ type: fc.constant('sweep' as const), asker })
export const others = [
  fc.record({ type: fc.constant('release' as const), asker, resource }),
  fc.record({ type: fc.constant('renew' as const), asker, resource, ttl }),
  fc.record({ type: fc.constant('force' as const), asker, resource }),
  fc.record({ type: fc.constant('pass' as const), ms }),
]

type Action =
  typeof sweeping | typeof acquisition | (typeof others)[number] extends fc.Arbitrary<infer T> ? T : never

export interface WorldState {
  readonly leases: readonly [read: readonly (LeaseRecord | null)[], listed: LeasePage]
  /** Waiters that have been told to ask again. */
  readonly called: readonly string[]
}

/** The stores of all askers, and the tokens that were seen. */
export class World {
  readonly #stores: readonly LeaseStore[]
  readonly #tokens = new Map([
    ['a', [0]],
    ['b', [0]],
  ])
  readonly #called = new Set<string>()

  constructor(stores: readonly LeaseStore[]) {
    this.#stores = stores
  }

  async do(action: Exclude<Action, { type: 'pass' }>): Promise<unknown> {
    return this.#show(await this.#call(action, this.#stores[action.asker] as LeaseStore))
  }

  async state(): Promise<WorldState> {
    const [store] = this.#stores as [LeaseStore]
    const leases = [await store.read(['a', 'b']), await store.list({ limit: 10 })]
    return this.#show({ leases, called: [...this.#called].sort() }) as WorldState
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
