/**
 * The script is `lease-row.ts` written a second time. For any sequence of operations and any steps of the clock, both
 * must give the same answers, report the same changes, and wake the same waiters.
 */
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, expect, it } from 'vitest'
import type { Ask, LeaseRecord, LeaseStore, Released } from '../../../src/core/index.ts'
import {
  ask,
  Effects,
  expire,
  type LeaseRow,
  newRow,
  release,
  renew,
  shownRecords,
  waitingIn,
} from '../../../src/stores/lease-row.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { Keys } from '../../../src/stores/redis/names.ts'
import { unpackChange } from '../../../src/stores/redis/rows.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { checkProperty } from '../../property.ts'
import { freshPrefix, HOLDFAST_TEST_REDIS_URL } from './clients.ts'
import { timedClient } from './timed-client.ts'

const RUNS = 25
/** The process of each asker. */
const PROCESSES = [0, 0, 1, 1, 2]

const admin = new Redis(HOLDFAST_TEST_REDIS_URL)
afterAll(() => admin.disconnect())

const asker = fc.nat(PROCESSES.length - 1)
const ttl = fc.constantFrom(10, 1500, 60_000)
const kept = fc.constantFrom(undefined, undefined, undefined, 300, 5000)
/** What one asker always asks for. */
const terms = fc.record({
  share: fc.constantFrom(undefined, 1, 2, 3, 3, Infinity, Infinity),
  atLeast: kept,
  lockDelay: kept,
})
const actions = (steps: readonly number[]) => [
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('ask' as const),
      asker,
      ttl,
      waits: fc.boolean(),
      replaces: fc.nat(15),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('release' as const), asker }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('renew' as const), asker, ttl }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('force' as const), which: fc.nat(5) }) },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('pass' as const), ms: fc.constantFrom(...steps) }),
  },
]
/** After a step back of the clock, rows are swept late. So no run has both. */
const sweep = {
  weight: 1,
  arbitrary: fc.record({ type: fc.constant('sweep' as const), limit: fc.constantFrom(1, 10) }),
}
const cases = {
  'while some sweep': fc.oneof(...actions([1, 290, 999, 1001]), sweep),
  'while the clock steps back': fc.oneof(...actions([1, 500, 1001, -400, -3_600_000])),
}
type Terms = typeof terms extends fc.Arbitrary<infer T> ? T : never
type Step = (typeof cases)[keyof typeof cases] extends fc.Arbitrary<infer T> ? T : never
type Action = Exclude<Step, { type: 'pass' }>

it.each(Object.entries(cases))('Redis does the same as the model %s', async (_, action) => {
  const property = fc.asyncProperty(
    fc.array(terms, { minLength: PROCESSES.length, maxLength: PROCESSES.length }),
    fc.array(action as fc.Arbitrary<Step>, { minLength: 20, maxLength: 60 }),
    async (askers, sequence) => {
      const clock = new FakeClock()
      const model = new Model(askers)
      await using script = new Script(askers, clock)
      await script.watch()
      for (const action of sequence) {
        if (action.type === 'pass') clock.jump(action.ms)
        else {
          const isDue = action.type !== 'sweep' || (await script.isDue())
          const expected = isDue ? model.do(action, clock.now()) : model.leaveAlone(clock.now())
          const { standby, ...outcome } = await script.do(action, model.tokens)
          // The model calls again those whose turn it is already, Redis does that only after a steal.
          const isNew = (id: string) => !expected.alreadyCalled?.includes(id)
          const newlyCalled = (some: Outcome) => ({ ...some, woken: some.woken.filter(isNew) })
          expect(newlyCalled(outcome)).toEqual(newlyCalled(expected.outcome))
          // The model tells the first one without a reservation, Redis also one of another process. Redis does not read
          // all leases for that, so it may tell a time that is too early.
          const { standbyIn } = expected
          if (standbyIn !== undefined) expect(standby?.[1]).toBeLessThanOrEqual(standbyIn)
          if (standby) expect(model.unreserved).toContain(standby[0])
        }
        expect(await script.state()).toEqual(model.state(clock.now()))
      }
    },
  )
  await checkProperty(property, { numRuns: RUNS, endOnFailure: true })
})

interface Outcome {
  readonly answer: unknown
  readonly changes: readonly LeaseRecord[]
  /** `<token> <id>` of those who are told that they have lost their leases. */
  readonly lost: readonly string[]
  /** Those who are told to ask at once. */
  readonly woken: readonly string[]
}

interface Expected {
  readonly outcome: Outcome
  /** In how many milliseconds one without a reservation is to ask. */
  readonly standbyIn?: number | undefined
  /** Those who wait and had a reservation before. */
  readonly alreadyCalled?: readonly string[]
}

const idOf = (asker: number) => `asker ${asker}`

function requestOf(
  askers: readonly Terms[],
  action: Action & { type: 'ask' },
  tokens: readonly number[],
): Ask {
  const { asker, ttl, replaces } = action
  const replace = replaces === 0 ? 'any' : replaces < 4 ? tokens.at(-replaces) : undefined
  return { resource: 'r', id: idOf(asker), owner: 'Mika', ttl, ...askers[asker], replace }
}

class Model {
  /** All that were granted. */
  readonly tokens: number[] = [1]
  readonly #askers: readonly Terms[]
  readonly #row: LeaseRow = newRow('r', 0)

  constructor(askers: readonly Terms[]) {
    this.#askers = askers
  }

  get unreserved(): string[] {
    return [...this.#row.queue.keys()].filter((id) => !this.#row.reserved.has(id))
  }

  state(now: number) {
    const waiting = waitingIn([...this.#row.queue.values()], 10)
    return { holders: shownRecords(structuredClone(this.#row), now), waiting }
  }

  /** As `do`, for a sweep that does not come to the row. */
  leaveAlone(now: number): Expected {
    const lapsed = expire(structuredClone(this.#row), now, new Effects())
    expect(lapsed).toEqual([])
    return { outcome: { answer: [], changes: [], lost: [], woken: [] } }
  }

  do(action: Action, now: number): Expected {
    const effects = new Effects()
    const reservedBefore = [...this.#row.reserved.keys()]
    // Their holders were told before.
    const kept = this.#row.leases.filter(({ keptUntil }) => keptUntil !== undefined).map(({ token }) => token)
    const answer = this.#answer(action, now, effects)
    this.tokens.push(...(this.#row.token > (this.tokens.at(-1) ?? 0) ? [this.#row.token] : []))
    const { changes, wakes } = effects
    const called = [...wakes].filter(([, inMs]) => inMs === 0).map(([id]) => id)
    const ended = changes.filter(
      ({ state, token }) => !['held', 'kept'].includes(state) && !kept.includes(token),
    )
    const lost = new Set(ended.map(({ token, id }) => `${token} ${id}`))
    return {
      outcome: {
        answer,
        changes,
        lost: action.type === 'release' ? [] : [...lost],
        woken: called.sort(),
      },
      alreadyCalled: reservedBefore.filter((id) => this.#row.queue.has(id)),
      standbyIn: [...wakes.values()].find((inMs) => inMs > 0),
    }
  }

  #answer(action: Action, now: number, effects: Effects): unknown {
    const row = this.#row
    switch (action.type) {
      case 'ask': {
        const channel = action.waits ? `process ${PROCESSES[action.asker]}` : null
        return ask(row, requestOf(this.#askers, action, this.tokens), channel, now, effects)
      }
      case 'renew':
        return renew(row, { id: idOf(action.asker), ttl: action.ttl }, now, effects)
      case 'release':
        return withoutOthers(release(row, { id: idOf(action.asker) }, now, effects))
      case 'force':
        return withoutOthers(release(row, { token: this.tokens.at(-1 - action.which) ?? 0 }, now, effects))
      case 'sweep':
        return expire(row, now, effects, action.limit)
    }
  }
}

/** Redis says who else holds the resource only if it ended nothing. */
function withoutOthers({ ended, holders }: Released): Released {
  return { ended, holders: ended ? [] : holders }
}

/** The stores of all processes. What the script publishes is collected in a list instead. */
class Script implements AsyncDisposable {
  readonly #askers: readonly Terms[]
  readonly #clock: FakeClock
  readonly #keys: Keys
  readonly #published: string
  readonly #stores: readonly LeaseStore[]
  readonly #close: () => void
  #tokens: readonly number[] = [1]

  constructor(askers: readonly Terms[], clock: FakeClock) {
    this.#askers = askers
    this.#clock = clock
    const prefix = freshPrefix()
    this.#keys = new Keys(prefix, 'r')
    this.#published = `${prefix}:published`
    const { client, close } = timedClient(HOLDFAST_TEST_REDIS_URL, clock, this.#published)
    this.#stores = Array.from(new Set(PROCESSES), () => redisStore(client, { prefix }))
    this.#close = close
  }

  async watch(): Promise<void> {
    await admin.set(this.#keys.watched, '')
  }

  async isDue(): Promise<boolean> {
    const [, , due = Infinity] = (await admin.get(this.#keys.row))?.split(' ') ?? []
    return Number(due) <= this.#clock.now() * 1000
  }

  async state() {
    const [store] = this.#stores as [LeaseStore]
    const [[holders], [waiting]] = (await Promise.all([
      store.read(['r']),
      store.waiting?.({ resources: ['r'], limit: 10 }),
    ])) as [[unknown], [unknown]]
    return { holders, waiting }
  }

  /** `tokens`: those that the model has granted, with the one that this action is to be granted. */
  async do(action: Action, tokens: readonly number[]): Promise<Outcome & { standby?: [string, number] }> {
    const answer = await this.#call(action)
    this.#tokens = [...tokens]
    const [published = []] = (
      await admin.multi().lrange(this.#published, 0, -1).del(this.#published).exec()
    )?.map(([, found]) => found as string[]) ?? [[]]
    const changes: LeaseRecord[] = []
    const lost: string[] = []
    // A call may settle the row twice, and Redis sends both messages. The last one to a waiter counts.
    const wakes = new Map<string, number>()
    for (const message of published) {
      const [, verb, number, text = ''] = /^(wake|lost) (\d+) (\S+)$/.exec(message) ?? []
      const id = decodeURIComponent(text)
      if (verb === 'wake') {
        wakes.delete(id)
        wakes.set(id, Number(number))
      } else if (verb === 'lost') lost.push(`${number} ${id}`)
      else changes.push(unpackChange(message))
    }
    const woken = [...wakes].filter(([, inMs]) => inMs === 0).map(([id]) => id)
    const standby = [...wakes].findLast(([, inMs]) => inMs > 0)
    return { answer, changes, lost, woken: woken.sort(), ...(standby && { standby }) }
  }

  async #call(action: Action): Promise<unknown> {
    const store = this.#stores['asker' in action ? (PROCESSES[action.asker] ?? 0) : 0] as LeaseStore
    const resource = 'r'
    switch (action.type) {
      case 'ask': {
        const request = requestOf(this.#askers, action, this.#tokens)
        return store.acquire({ ...request, lost: () => {}, ...(action.waits && { wake: () => {} }) })
      }
      case 'renew':
        return store.renew({ resource, id: idOf(action.asker), ttl: action.ttl })
      case 'release':
        return store.release({ resource, id: idOf(action.asker) })
      case 'force':
        return store.release({ resource, token: this.#tokens.at(-1 - action.which) ?? 0 })
      case 'sweep':
        return store.sweep({ limit: action.limit })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.#stores) await store.close()
    this.#close()
  }
}
