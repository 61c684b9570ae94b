/**
 * Requests in any order, from several processes, must be answered like by the memory store, which is the reference.
 *
 * If the stores use the clock of the test, time passes, leases expire and all times are compared. Otherwise only the
 * server can let time pass, so nothing expires.
 */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { LeaseRecord, LeaseStore } from '../../src/core/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { FakeClock } from '../../src/testing/index.ts'
import { checkProperty } from '../property.ts'

export interface Comparison {
  readonly runs: number
  /** Stores without leases, as many as `count`, like those of separate processes. */
  open(count: number, clock: FakeClock): Processes | Promise<Processes>
  /** Whether the stores use the clock of the test. */
  readonly usesClock: boolean
  /** In milliseconds. */
  readonly shortestTtl?: number
  /** Whether the store keeps a queue, and some wait in it. */
  readonly waits: boolean
  /** Default true. */
  readonly sweeps?: boolean
  /** Default true. */
  readonly steals?: boolean
  /** Whether leases may keep the resource after their end. Default true. */
  readonly keeps?: boolean
  /** Whether the store can grant several requests together. Default false. */
  readonly together?: boolean
  /** Default: the same waiters have been called. */
  expectSameCalled?(actual: readonly Caller[], expected: readonly Caller[]): void
}

export type AskedStore = Pick<
  LeaseStore,
  'acquire' | 'acquireAll' | 'renew' | 'release' | 'read' | 'list' | 'sweep'
>

export interface Processes extends AsyncDisposable {
  readonly stores: readonly AskedStore[]
  /** Resolves when the pushes that were sent have arrived. */
  delivered?(): Promise<void>
}

/** A waiter that has been told to ask again. */
export interface Caller {
  readonly id: string
  readonly resource: string
}

const CALLERS = 4
const RESOURCES = ['a', 'b']
const LONG_MS = 600_000
const never = fc.constant(undefined)

export async function expectSameAsMemory(comparison: Comparison): Promise<void> {
  const { runs, open, usesClock, expectSameCalled } = comparison
  // A caller repeats its request with the same share.
  const shares = fc.array(fc.constantFrom(undefined, 2, 3, Infinity), {
    minLength: CALLERS,
    maxLength: CALLERS,
  })
  const actions = fc.array(actionOf(comparison), { minLength: 30, maxLength: 60 })
  const property = fc.asyncProperty(shares, actions, async (shares, actions) => {
    // Near the real time, for stores that compare it with the dates of files.
    const clock = new FakeClock(Date.now())
    await using processes = await open(CALLERS, clock)
    const memory = memoryStore({ clock })
    const actual = new World(processes.stores, shares, usesClock)
    const expected = new World(
      processes.stores.map(() => memory),
      shares,
      usesClock,
    )
    for (const action of actions) {
      if (action.type === 'pass') await clock.advance(action.ms)
      else expect(await actual.do(action)).toEqual(await expected.do(action))
      await processes.delivered?.()
      expect(await actual.state()).toEqual(await expected.state())
      if (expectSameCalled) expectSameCalled(actual.called, expected.called)
      else expect(actual.called).toEqual(expected.called)
    }
  })
  await checkProperty(property, { numRuns: runs })
}

function actionOf(comparison: Comparison) {
  const { usesClock, shortestTtl = 50, waits, sweeps = true, steals = true, keeps = true } = comparison
  const { together = false } = comparison
  const [by, resource] = [fc.nat(CALLERS - 1), fc.constantFrom('a', 'a', 'a', 'b')]
  const ttl = usesClock ? fc.constantFrom(shortestTtl, 1000, 5000) : fc.constant(LONG_MS)
  /** Which token, counted from the newest. */
  const newest = fc.constantFrom(0, 0, 1, 2)
  const acquire = fc.record({
    type: fc.constant('acquire' as const),
    by,
    resource,
    ttl,
    metadata: fc.constantFrom(undefined, { user: 'Mika' }),
    waits: waits ? fc.boolean() : fc.constant(false),
    atLeast: rarely(keeps, ...(usesClock ? [700, 5000] : [LONG_MS])),
    lockDelay: rarely(keeps, 300, 2000),
    replace: fc.oneof(
      { weight: 14, arbitrary: never },
      { arbitrary: newest, weight: 1 },
      { weight: steals ? 1 : 0, arbitrary: fc.constant('any' as const) },
    ),
  })
  const acquireAll = fc.record({ type: fc.constant('acquireAll' as const), by, resource, ttl })
  const release = fc.record({ type: fc.constant('release' as const), by, resource })
  const renew = fc.record({ type: fc.constant('renew' as const), by, resource, ttl })
  const force = fc.record({ type: fc.constant('force' as const), by, resource, newest })
  const sweep = fc.record({ type: fc.constant('sweep' as const), by })
  const pass = fc.record({ type: fc.constant('pass' as const), ms: fc.constantFrom(1, 60, 999, 2000) })
  return fc.oneof(
    { weight: 6, arbitrary: acquire },
    { weight: together ? 2 : 0, arbitrary: acquireAll },
    { weight: 3, arbitrary: release },
    { weight: 2, arbitrary: renew },
    { weight: 1, arbitrary: force },
    { weight: sweeps ? 1 : 0, arbitrary: sweep },
    { weight: usesClock ? 3 : 0, arbitrary: pass },
  )
}
type Action = ReturnType<typeof actionOf> extends fc.Arbitrary<infer T> ? T : never
type Request = Exclude<Action, { type: 'pass' }>

function rarely(isPossible: boolean, ...values: number[]): fc.Arbitrary<number | undefined> {
  return fc.oneof(
    { weight: 7, arbitrary: never },
    { weight: isPossible ? 1 : 0, arbitrary: fc.constantFrom(...values) },
  )
}

/** The stores of all callers, and the tokens that were seen. */
class World {
  readonly #stores: readonly AskedStore[]
  readonly #shares: readonly (number | undefined)[]
  readonly #hasTimes: boolean
  readonly #tokens = new Map(RESOURCES.map((resource) => [resource, [0]]))
  readonly #called = new Map<string, Caller>()

  constructor(stores: readonly AskedStore[], shares: readonly (number | undefined)[], hasTimes: boolean) {
    this.#stores = stores
    this.#shares = shares
    this.#hasTimes = hasTimes
  }

  get called(): Caller[] {
    return [...this.#called.values()].sort((one, other) => (one.id < other.id ? -1 : 1))
  }

  async do(request: Request): Promise<unknown> {
    return this.#shown(await this.#call(request, this.#stores[request.by] as AskedStore))
  }

  async state(): Promise<unknown> {
    const [store] = this.#stores as [AskedStore]
    const [read, list] = [await store.read(RESOURCES), await store.list({ limit: 100 })]
    return this.#shown({ read, list })
  }

  async #call(request: Request, store: AskedStore): Promise<unknown> {
    if (request.type === 'sweep') {
      const swept = await store.sweep({ limit: 10 })
      const nameOf = ({ resource, token }: LeaseRecord) => `${resource} ${token}`
      return swept.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
    }
    const { by, resource } = request
    const id = `caller ${by} for ${resource}`
    if (request.type === 'renew') return store.renew({ resource, id, ttl: request.ttl })
    if (request.type === 'release' || request.type === 'force') {
      const by = request.type === 'force' ? { token: this.#tokenOf(resource, request.newest) } : { id }
      const { ended, holders } = await store.release({ resource, ...by })
      return ended ?? holders
    }
    if (request.type === 'acquireAll') {
      const names = resource === 'a' ? RESOURCES : RESOURCES.toReversed()
      const asks = names.map((name) => {
        const id = `caller ${by} for ${name}`
        return { resource: name, id, owner: id, ttl: request.ttl, share: this.#shares[by], lost: () => {} }
      })
      const grants = await store.acquireAll?.(asks)
      for (const { id } of grants ? asks : []) this.#called.delete(id)
      return grants
    }
    const { type: _, waits, replace, ...ask } = request
    this.#called.delete(id)
    const wake = (inMs: number) => inMs === 0 && this.#called.set(id, { id, resource })
    return store.acquire({
      ...ask,
      id,
      owner: id,
      share: this.#shares[by],
      lost: () => {},
      ...(waits && { wake }),
      replace: typeof replace === 'number' ? this.#tokenOf(resource, replace) : replace,
    })
  }

  #tokenOf(resource: string, newest: number): number {
    return this.#tokens.get(resource)?.at(-1 - newest) ?? 0
  }

  /** With numbers for tokens, since their values may differ; a new one must be the highest. */
  #shown(value: unknown): unknown {
    const [tokens, hasTimes] = [this.#tokens, this.#hasTimes]
    const text = JSON.stringify(value, function (this: { resource: string }, key, inner) {
      if (!hasTimes && ['acquiredAt', 'expiresAt', 'remaining', 'retryIn'].includes(key)) return undefined
      if (!hasTimes && key === 'keptFor') return true
      if (inner === Infinity) return 'unlimited'
      const seen = key === 'token' && tokens.get(this.resource)
      if (!seen) return inner
      if (!seen.includes(inner)) {
        expect(inner).toBeGreaterThan(seen.at(-1) ?? 0)
        seen.push(inner)
      }
      return seen.indexOf(inner)
    })
    return JSON.parse(text)
  }
}
