/** What the tests of the core do inside a page. Each scenario resolves with what the test then looks at. */
import {
  type Clock,
  createLeases,
  type Lease,
  type LeaseEvent,
  systemClock,
} from '../../../src/core/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { chaosStore, describeStore } from '../../../src/testing/index.ts'
import { aborted } from '../../aborted.ts'

export const scenarios = {
  async withLease() {
    const leases = createLeases(memoryStore())
    const result = await leases.withLease('page', async (lease) => ({
      held: lease.held,
      token: lease.token,
      holder: (await leases.inspect('page'))?.id === lease.id,
    }))
    return { ...result, free: (await leases.inspect('page')) === null }
  },

  async contention(count: number) {
    const leases = createLeases(memoryStore())
    const served: number[] = []
    const tokens: number[] = []
    let inside = 0
    let most = 0
    const work = (n: number) => async (lease: Lease) => {
      most = Math.max(most, ++inside)
      await new Promise((resolve) => setTimeout(resolve))
      served.push(n)
      tokens.push(lease.token)
      inside--
    }
    await Promise.all(Array.from({ length: count }, (_, n) => leases.withLease('rush', work(n))))
    return { served, tokens, most }
  },

  /** What comes first: the signal of the loss, or a plain timer of the page that is set for the end of the TTL. */
  async frozenStore(ttl: number) {
    const store = chaosStore(memoryStore())
    let asked = 0
    const onEvent = ({ type }: LeaseEvent) => {
      if (type === 'attempt') asked = performance.now()
    }
    const leases = createLeases(store, { ttl, onEvent })
    const lease = await leases.acquire('frozen')
    store.faults = { loseRequest: 1 }
    const order: string[] = []
    const lost = aborted(lease.signal).then(() => order.push('signal'))
    const timer = new Promise((resolve) =>
      setTimeout(resolve, Math.ceil(asked + ttl - performance.now())),
    ).then(() => order.push('timer'))
    await Promise.all([lost, timer])
    return { order, held: lease.held, code: lease.signal.reason.code as string }
  },

  /** What a lease says after `ms` milliseconds in which the page was too busy for any timer. */
  async busyPage(ttl: number, ms: number) {
    let passed = 0
    const clock: Clock = {
      ...systemClock,
      now: () => systemClock.now() + passed,
      monotonic: () => systemClock.monotonic() + passed,
    }
    const lease = await createLeases(memoryStore(), { ttl, clock }).acquire('busy')
    passed = ms
    return { held: lease.held, aborted: lease.signal.aborted }
  },

  async conformance() {
    const results: Promise<{ title: string; error?: string }>[] = []
    const describe = (_name: string, body: () => void) => body()
    const it = (title: string, body: () => Promise<void>) =>
      results.push(
        body().then(
          () => ({ title }),
          (error: unknown) => ({ title, error: String(error) }),
        ),
      )
    describeStore('memory', {
      // All at once, on a machine that may be busy.
      ttl: 2000,
      runner: { describe, it },
      create: async () => {
        const offset = { ms: 0 }
        const clock = { ...systemClock, now: () => Date.now() + offset.ms }
        return { offset, store: memoryStore({ clock }) }
      },
      stepClock: ({ offset }, ms) => {
        offset.ms += ms
      },
    })
    return Promise.all(results)
  },
}

Object.assign(globalThis, { scenarios })
