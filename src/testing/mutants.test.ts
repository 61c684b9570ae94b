/** The suite must fail on every store with a planted mistake. Otherwise a rule is not checked. */
import { describe, expect, it } from 'vitest'
import { LeaseError, type LeaseStore } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { type DescribeStoreOptions, describeStore, type StoreHarness } from './describe-store.ts'
import { FakeClock } from './fake-clock.ts'
import { mutateStore, storeMistakes } from './mutants.ts'

interface Planted extends StoreHarness {
  readonly clock: FakeClock
  readonly data: LeaseStore
  readonly faults: Faults
}

interface Faults {
  isOut: boolean
  gap(): void
}

it('passes the store without a mistake, with every case', async () => {
  const { failed, skipped } = await outcomes((store) => store)
  expect([failed, skipped]).toEqual([[], []])
})

it('names the hooks that are missing', async () => {
  const { skipped } = await run(
    { create: async () => ({ store: memoryStore() }), reopen: undefined as never },
    'none',
  )
  expect(skipped).toContain('raises the token across a restart (needs the hook reopen)')
  expect(skipped).toContain('raises the token when the clock steps back (needs the hook stepClock)')
})

it('passes a store whose answers take longer than the TTL', async () => {
  const options = { create: async () => ({ store: slowed(memoryStore(), 15) }), ttl: 20, contention: 10 }
  expect((await run(options)).failed).toEqual([])
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
  const options: DescribeStoreOptions<Planted> = {
    async create() {
      const clock = new FakeClock()
      const data = memoryStore({ clock })
      const faults: Faults = { isOut: false, gap() {} }
      return { clock, data, faults, store: plant(breakable(data, faults)) }
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
    reopen: async ({ data, faults }) => plant({ ...breakable(data, faults), close: async () => {} }),
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

/** A store whose backend can be out, and whose watch can be interrupted. */
function breakable(store: LeaseStore, faults: Faults): LeaseStore {
  const reach = async <T>(work: () => Promise<T>): Promise<T> => {
    if (faults.isOut) throw new LeaseError('store-unavailable', 'the backend is out')
    return work()
  }
  return {
    ...store,
    acquire: (ask) => reach(() => store.acquire(ask)),
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
  const wanted = cases.filter(({ name }) => !only || name === only)
  const runCase = ({ name, body }: (typeof cases)[number]) => body().catch(() => failed.push(name))
  // The clock of the caller is the same for all.
  if (options.skewCaller) for (const one of wanted) await runCase(one)
  else await Promise.all(wanted.map(runCase))
  return { failed, skipped }
}

/** Every answer takes as long, as on a busy machine. */
function slowed(store: LeaseStore, ms: number): LeaseStore {
  const sleep = () => new Promise((resolve) => setTimeout(resolve, ms))
  return {
    ...store,
    async acquire(ask, options) {
      await sleep()
      const answer = await store.acquire(ask, options)
      await sleep()
      return answer
    },
    async renew(ask, options) {
      await sleep()
      return store.renew(ask, options)
    },
  }
}
