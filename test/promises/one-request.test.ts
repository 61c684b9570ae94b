import { describe, expect, it, vi } from 'vitest'
import { type Ask, createLeases, type LeaseEvent, type LeaseStore } from '../../src/core/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { settled } from '../../src/testing/fake-clock.ts'
import { chaosStore, FakeClock } from '../../src/testing/index.ts'

type AcquireAll = NonNullable<LeaseStore['acquireAll']>

describe('several leases in one request', () => {
  it('several leases in one request are granted by one call to the store if all are free', async () => {
    const { store, leases, events, acquire, acquireAll } = setUp()
    const group = await leases.acquireAll(['b', 'a', 'c'], { metadata: { user: 'Mika' } })
    expect([acquireAll.mock.calls.length, acquire.mock.calls.length]).toEqual([1, 0])
    expect(group.leases.map(({ resource }) => resource)).toEqual(['b', 'a', 'c'])
    expect(group.held).toBe(true)
    expect(acquiredIn(events)).toEqual(['a', 'b', 'c'])
    expect((await store.read(['a']))[0]).toMatchObject([{ owner: 'me', metadata: { user: 'Mika' } }])
    await group.release()
    expect(await store.read(['a', 'b', 'c'])).toEqual([[], [], []])
  })

  it('several leases in one request are asked for one by one if one of them is held, and none is kept before its turn', async () => {
    const { clock, store, leases, acquire } = setUp()
    const held = await createLeases(store, { clock }).acquire('a', { ttl: '1h' })
    const asking = leases.acquireAll(['b', 'a'], { wait: '1m' })
    await clock.advance(10)
    expect((await store.read(['b']))[0]).toEqual([])
    await held.release()
    await clock.advance(10)
    expect((await asking).held).toBe(true)
    expect(acquire.mock.calls.map(([{ resource }]) => resource)).toEqual(['a', 'a', 'b'])
  })

  it('several leases in one request are asked for one by one after an answer that was lost, which leaves nothing behind', async () => {
    const { clock, store, leases, events } = setUp({
      acquireAll: (ask) => (asks) => {
        void ask(asks)
        return new Promise(() => {})
      },
    })
    const asking = leases.acquireAll(['a', 'b'], { wait: '1m' })
    await clock.advance(6000)
    const group = await asking
    expect(group.held).toBe(true)
    expect(events.filter(({ type }) => type === 'error')).toMatchObject([
      { operation: 'acquire', resource: 'a', error: { code: 'store-unavailable' } },
      { operation: 'acquire', resource: 'b', error: { code: 'store-unavailable' } },
    ])
    await group.release()
    expect(await store.read(['a', 'b'])).toEqual([[], []])
  })

  it('several leases in one request are released if the answer comes after the caller has given up', async () => {
    const late = Promise.withResolvers<void>()
    const { clock, store, leases } = setUp({
      acquireAll: (ask) => async (asks) => {
        await late.promise
        return ask(asks)
      },
    })
    const stop = new AbortController()
    const failing = expect(leases.acquireAll(['a', 'b'], { signal: stop.signal })).rejects.toMatchObject({
      code: 'aborted',
    })
    stop.abort()
    await failing
    late.resolve()
    await settled()
    await clock.advance(10)
    expect(await store.read(['a', 'b'])).toEqual([[], []])
  })

  it('several leases in one request are released if the grant comes after its deadline', async () => {
    const { clock, store, leases } = setUp({
      acquireAll: (ask) => async (asks) => {
        const grants = await ask(asks)
        await clock.advance(3000)
        return grants
      },
    })
    const group = await leases.acquireAll(['a', 'b'], { ttl: 2000 })
    // One by one, because the first leases have expired.
    expect(group.held).toBe(true)
    await group.release()
    expect(await store.read(['a', 'b'])).toEqual([[], []])
  })

  it('several leases in one request are none if one was ended before the answer came', async () => {
    const { clock, store, leases } = setUp({
      acquireAll: (ask) => async (asks) => {
        const grants = await ask(asks)
        const [first] = grants ?? []
        if (first) await store.release({ resource: 'a', token: first.lease.token })
        return grants
      },
    })
    await expect(leases.acquireAll(['a', 'b'])).rejects.toMatchObject({ code: 'lease-lost', resource: 'a' })
    await clock.advance(10)
    expect(await store.read(['a', 'b'])).toEqual([[], []])
  })

  it('several leases in one request are asked for one by one by a wrapper that has only acquire', async () => {
    const memory = memoryStore()
    const acquire = vi.fn(memory.acquire)
    await using leases = createLeases({ ...memory, acquire })
    await using group = await leases.acquireAll(['a', 'b'])
    expect([group.held, acquire.mock.calls.length]).toEqual([true, 2])
  })

  it('several leases in one request are all held or all free behind a network that loses requests and answers', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    let seed = 7
    const random = () => {
      seed = (seed * 16807) % 2147483647
      return seed / 2147483647
    }
    const faults = { loseAnswer: 0.3, loseRequest: 0.2, delay: [0, 50] } as const
    const leases = createLeases(chaosStore(store, { clock, random, faults }), { clock, callTimeout: 500 })
    for (let round = 0; round < 20; round++) {
      const asking = leases.acquireAll(['a', 'b', 'c'], { wait: '1m', ttl: '10s' }).catch(() => null)
      await clock.advance('61s')
      const group = await asking
      if (group?.held)
        expect((await store.read(['a', 'b', 'c'])).map(({ length }) => length)).toEqual([1, 1, 1])
      const releasing = group?.release().catch(() => {})
      await clock.advance('30s')
      await releasing
      expect(await store.read(['a', 'b', 'c'])).toEqual([[], [], []])
    }
  })
})

function acquiredIn(events: readonly LeaseEvent[]): string[] {
  return events.filter(({ type }) => type === 'acquired').map(({ resource }) => resource)
}

/** A manager on a memory store whose `acquireAll` can be replaced. */
function setUp({ acquireAll: replaced }: { acquireAll?: (ask: AcquireAll) => AcquireAll } = {}) {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const original = store.acquireAll as AcquireAll
  const acquireAll = vi.fn(replaced?.(original) ?? original)
  const acquire = vi.fn((ask: Ask) => store.acquire(ask))
  const events: LeaseEvent[] = []
  const options = { clock, owner: 'me', onEvent: (event: LeaseEvent) => void events.push(event) }
  const leases = createLeases({ ...store, acquire, acquireAll }, options)
  return { clock, store, leases, events, acquire, acquireAll }
}
