/** The suite must fail on every store with a planted mistake. Otherwise a rule is not checked. */
import { describe, expect, it } from 'vitest'
import { LeaseError, type LeaseStore } from '../../core/index.ts'
import { memoryStore } from '../../stores/memory.ts'
import { type DescribeStoreOptions, describeStore, type StoreHarness } from '../describe-store.ts'
import { FakeClock } from '../fake-clock.ts'
import { mutateStore, storeMistakes } from './index.ts'

const KEEPS_NOTHING = 'keeps nothing of a request that is under way when it is closed, unless it answers it'

interface Planted extends StoreHarness {
  readonly clock: FakeClock
  readonly data: LeaseStore
  readonly faults: Faults
}

interface Faults {
  isOut: boolean
  gap(): void
}

it('the suite passes the store without a mistake, with every case', async () => {
  const { failed, skipped } = await outcomes((store) => store)
  expect([failed, skipped]).toEqual([[], []])
})

it('the suite names the hooks that are missing', async () => {
  const { skipped } = await run(
    { create: async () => ({ store: memoryStore() }), reopen: undefined as never },
    'none',
  )
  expect(skipped).toContain('raises the token across a restart (needs the hook reopen)')
  expect(skipped).toContain('raises the token when the clock steps back (needs the hook stepClock)')
})

it('the suite tells what was asked and answered before a failure', async () => {
  const { messages } = await outcomes(
    (store) => mutateStore(store, 'release without a check of who asks'),
    'does not let an old holder free its successor',
  )
  expect(messages[0]).toMatch(/^the late release: expected .*, got /)
  expect(messages[0]).toContain('The calls of this case, the latest last:')
  expect(messages[0]).toMatch(/store\.acquire\(\{ resource: "succession".* granted: true/)
  expect(messages[0]).toMatch(/store\.release\(.*lease-\d+.* → \{ ended: /)
})

it('the suite passes a store whose answers take longer than the TTL', async () => {
  const options = { create: async () => ({ store: slowed(memoryStore(), 15) }), ttl: 20, contention: 10 }
  expect((await run(options)).messages).toEqual([])
})

describe('a store with a mistake fails:', () => {
  it.each(storeMistakes().map(({ mistake, caughtBy }) => [mistake, caughtBy] as const))(
    '%s',
    async (mistake, caughtBy) => {
      expect((await outcomes((store) => mutateStore(store, mistake), caughtBy)).failed).toEqual([caughtBy])
    },
  )
})

function outcomes(plant: (store: LeaseStore) => LeaseStore, only?: string) {
  // A mutant remembers what it did. So it is one store for all, except where another must stay when it is closed.
  const withPeer = ['tells watchers nothing after close', KEEPS_NOTHING].includes(only ?? '')
  const options: DescribeStoreOptions<Planted> = {
    async create() {
      const clock = new FakeClock(Date.now())
      const data = memoryStore({ clock })
      const faults: Faults = { isOut: false, gap() {} }
      const store = plant(breakable(data, faults))
      return { clock, data, faults, store, ...(withPeer && { peer: view(data) }) }
    },
    pass: ({ clock }, ms) => clock.advance(ms),
    stepClock: ({ clock }, ms) => clock.jump(ms),
    skewCaller({ clock }, ms) {
      const { now } = Date
      Date.now = () => clock.now() + ms
      return () => {
        Date.now = now
      }
    },
    reopen: async ({ data, faults }) => plant(breakable(data, faults)),
    async outage({ faults }) {
      faults.isOut = true
      return async () => {
        faults.isOut = false
      }
    },
    interruptWatch: async ({ faults }) => faults.gap(),
  }
  return run(options, only)
}

/** The same data for another process: it can be closed alone. */
function view(data: LeaseStore): LeaseStore {
  const watches: AsyncDisposable[] = []
  let isClosed = false
  const reach = <T>(work: () => Promise<T>): Promise<T> =>
    isClosed ? Promise.reject(new LeaseError('closed', 'the store is closed')) : work()
  const close = async () => {
    isClosed = true
    for (const watch of watches) await watch[Symbol.asyncDispose]()
  }
  return {
    ...data,
    acquire: (ask, call) => reach(() => data.acquire(ask, call)),
    acquireAll: (asks, call) => reach(async () => data.acquireAll?.(asks, call) ?? null),
    renew: (ask) => reach(() => data.renew(ask)),
    release: (by) => reach(() => data.release(by)),
    read: (names) => reach(() => data.read(names)),
    sweep: (query) => reach(() => data.sweep(query)),
    watch: (on, query) =>
      reach(async () => {
        const watch = await data.watch(on, query)
        watches.push(watch)
        return watch
      }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** A store whose backend can be out, and whose watch can be interrupted. */
function breakable(data: LeaseStore, faults: Faults): LeaseStore {
  const store = view(data)
  const reach = async <T>(work: () => Promise<T>): Promise<T> => {
    if (faults.isOut) throw new LeaseError('store-unavailable', 'the backend is out')
    return work()
  }
  return {
    ...store,
    acquire: (ask, call) => reach(() => store.acquire(ask, call)),
    renew: (ask) => reach(() => store.renew(ask)),
    read: (names) => reach(() => store.read(names)),
    async watch(on, query) {
      let isHearing = true
      const { gap } = faults
      const watch = await store.watch((event) => isHearing && on(event), query)
      faults.gap = () => {
        gap()
        isHearing = false
        setTimeout(() => {
          isHearing = true
          on({ type: 'gap' })
        })
      }
      return watch
    },
  }
}

async function run<H extends StoreHarness>(options: DescribeStoreOptions<H>, only?: string) {
  const cases: { name: string; body: () => Promise<void> }[] = []
  const skipped: string[] = []
  const add = (name: string, body: () => Promise<void>) => cases.push({ name, body })
  const runner = {
    describe: (_: string, body: () => void) => body(),
    it: Object.assign(add, { skip: (name: string) => skipped.push(name) }),
  }
  describeStore('planted', { ...options, runner })
  const failed: string[] = []
  const messages: string[] = []
  const wanted = cases.filter(({ name }) => !only || name === only)
  const runCase = ({ name, body }: (typeof cases)[number]) =>
    body().catch((error: Error) => {
      failed.push(name)
      messages.push(error.message)
    })
  // The clock of the caller is the same for all.
  if (options.skewCaller) for (const one of wanted) await runCase(one)
  else await Promise.all(wanted.map(runCase))
  return { failed, skipped, messages }
}

/** Every answer takes as long, as on a busy machine. */
function slowed(store: LeaseStore, ms: number): LeaseStore {
  const sleep = () => new Promise((resolve) => setTimeout(resolve, ms))
  const underWay = new Set<Promise<unknown>>()
  const tracked = <T>(call: () => Promise<T>): Promise<T> => {
    const answer = call()
    underWay.add(answer)
    return answer.finally(() => underWay.delete(answer))
  }
  return {
    ...store,
    acquire: (ask, options) =>
      tracked(async () => {
        await sleep()
        const answer = await store.acquire(ask, options)
        await sleep()
        return answer
      }),
    async renew(ask, options) {
      await sleep()
      return store.renew(ask, options)
    },
    release: (by, options) =>
      tracked(async () => {
        await sleep()
        return store.release(by, options)
      }),
    async close() {
      while (underWay.size > 0) await Promise.allSettled(underWay)
      await store.close()
    },
  }
}
