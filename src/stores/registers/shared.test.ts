import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { checkProperty } from '../../../test/property.ts'
import { FakeRegisters } from '../../../test/stores/registers/fake-registers.ts'
import { type Ask, LeaseError, type LeaseRecord, type LeaseStore, type StoreEvent } from '../../core/index.ts'
import { memoryStore } from '../memory.ts'

const TTL = 1000
const HOUR_MS = 3_600_000

let registers: FakeRegisters
let store: LeaseStore
let peer: LeaseStore
beforeEach(() => {
  registers = new FakeRegisters()
  store = registers.store()
  peer = registers.store()
})
afterEach(() => Promise.all([store.close(), peer.close()]))

function ask(by: LeaseStore, id: string, more: Partial<Ask> = {}) {
  return by.acquire({ resource: 'r', id, owner: id, ttl: TTL, share: 2, ...more })
}

async function grab(by: LeaseStore, id: string, more: Partial<Ask> = {}): Promise<LeaseRecord> {
  const answer = await ask(by, id, more)
  if (!answer.granted) throw new Error(`${id} was refused`)
  return answer.lease
}

async function holders(): Promise<string[]> {
  const [leases = []] = await peer.read(['r'])
  return leases.map(({ id }) => id)
}

const settle = () => registers.clock.advance(300)

const ids = fc.constantFrom('a', 'b', 'c', 'd')
const step = fc.oneof(
  fc.record({
    do: fc.constant('ask' as const),
    id: ids,
    share: fc.constantFrom(undefined, 1, 2, 3, Infinity),
    atLeast: fc.constantFrom(undefined, undefined, 60, 300),
    lockDelay: fc.constantFrom(undefined, undefined, 60, 300),
    replace: fc.constantFrom(undefined, undefined, undefined, 'any' as const, 'newest' as const),
  }),
  fc.record({ do: fc.constant('renew' as const), id: ids, ttl: fc.constantFrom(50, 200) }),
  fc.record({ do: fc.constant('release' as const), id: ids }),
  fc.record({ do: fc.constantFrom('force' as const, 'sweep' as const, 'look' as const) }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

async function take(by: LeaseStore, next: Step): Promise<unknown> {
  const newest = async () => (await by.read(['r']))[0]?.at(-1)?.token ?? 1
  switch (next.do) {
    case 'ask': {
      const replace = next.replace === 'newest' ? await newest() : next.replace
      return ask(by, next.id, { ...next, ttl: 100, replace })
    }
    case 'renew':
      return by.renew({ resource: 'r', id: next.id, ttl: next.ttl })
    case 'release':
      return by.release({ resource: 'r', id: next.id })
    case 'force':
      return by.release({ resource: 'r', token: await newest() })
    case 'sweep':
      return by.sweep({ limit: 2 })
    case 'look':
      return [await by.read(['r']), await by.list({ limit: 2 })]
  }
}

describe('several leases in one register', () => {
  it('several leases in one register behave as those of the store in memory, whatever is called', async () => {
    const passing = fc.constantFrom(0, 0, 1, 49, 50, 99, 100, 101, 250)
    await checkProperty(
      fc.asyncProperty(fc.array(fc.tuple(step, passing), { maxLength: 25 }), async (steps) => {
        const own = new FakeRegisters()
        const [tested, model] = [own.store(), memoryStore({ clock: own.clock })]
        for (const [next, ms] of steps) {
          expect(await take(tested, next)).toEqual(await take(model, next))
          await own.clock.advance(ms)
        }
        await Promise.all([tested.close(), model.close()])
      }),
      { numRuns: 1000 },
    )
  })

  it('several leases in one register are renewed and released one by one: a delayed renewal revives none and harms no other', async () => {
    await grab(store, 'a', { ttl: 5 * TTL })
    await grab(store, 'b')
    registers.beforeWrite = async () => {
      registers.beforeWrite = () => {}
      await registers.clock.advance(TTL)
    }
    expect(await store.renew({ resource: 'r', id: 'b', ttl: TTL })).toMatchObject({
      ok: false,
      holders: [{ id: 'a' }],
    })
    expect(await holders()).toEqual(['a'])
    expect(await peer.sweep({ limit: 10 })).toMatchObject([{ id: 'b', state: 'expired' }])
    expect(await peer.sweep({ limit: 10 })).toEqual([])
  })

  it('several leases in one register never exceed their number, even if the grant of one was decided on an older state', async () => {
    await grab(store, 'a')
    registers.beforeWrite = async () => {
      registers.beforeWrite = () => {}
      await grab(peer, 'b')
    }
    expect(await ask(store, 'c')).toMatchObject({ granted: false, holders: [{ id: 'a' }, { id: 'b' }] })
  })

  it('several leases in one register are swept up to the limit, also within one register', async () => {
    for (const id of ['a', 'b', 'c']) await grab(store, id, { share: 3 })
    await registers.clock.advance(TTL)
    expect((await store.sweep({ limit: 2 })).map(({ id }) => id)).toEqual(['a', 'b'])
    expect((await peer.sweep({ limit: 2 })).map(({ id }) => id)).toEqual(['c'])
  })

  it('several leases in one register are returned by one sweep only, even if another write followed before the time of the sweep was read', async () => {
    await grab(store, 'b', { ttl: TTL + 1 })
    await grab(store, 'a')
    await registers.clock.advance(TTL)
    registers.afterWrite = async ({ register }) => {
      registers.afterWrite = (written) => written
      await registers.clock.advance(10)
      return { register: { ...register, writtenMicros: registers.clock.now() * 1000 }, isOvertaken: true }
    }
    const swept = [await store.sweep({ limit: 10 }), await peer.sweep({ limit: 10 })]
    expect(swept.map((leases) => leases.map(({ id }) => id))).toEqual([['a'], ['b']])
  })

  it('several leases in one register are listed in pages that may end within a resource', async () => {
    for (const resource of ['p', 'q', 'r'])
      for (const id of ['1', '2', '3']) await grab(store, `${resource}${id}`, { resource, share: Infinity })
    const pages: string[][] = []
    let after: string | undefined
    do {
      const page = await peer.list({ limit: 2, after })
      pages.push(page.leases.map(({ id }) => id))
      after = page.next
    } while (after !== undefined)
    expect(pages).toEqual([['p1', 'p2'], ['p3', 'q1'], ['q2', 'q3'], ['r1', 'r2'], ['r3']])
  })

  it('live no longer than their TTL after the clock stepped back, no matter who looks', async () => {
    await grab(store, 'a')
    await grab(store, 'b')
    registers.clock.jump(-HOUR_MS)
    expect(await ask(peer, 'c')).toMatchObject({ granted: false, retryIn: TTL })
    await registers.clock.advance(TTL - 1)
    expect((await ask(peer, 'c')).granted).toBe(false)
    await registers.clock.advance(1)
    expect((await ask(peer, 'c')).granted).toBe(true)
  })

  it('several leases in one register keep the resource across a restart: at least so long, and for the lock delay', async () => {
    await grab(store, 'a', { share: undefined, atLeast: 5 * TTL })
    await store.release({ resource: 'r', id: 'a' })
    expect(await ask(registers.store(), 'b')).toMatchObject({
      granted: false,
      keptFor: 5 * TTL,
      retryIn: 5 * TTL,
    })
    await registers.clock.advance(5 * TTL)
    await grab(store, 'b', { share: undefined, lockDelay: 2 * TTL })
    await registers.clock.advance(2 * TTL)
    expect(await ask(registers.store(), 'c')).toMatchObject({ granted: false, holders: [], keptFor: TTL })
    await registers.clock.advance(TTL)
    expect((await ask(peer, 'c')).granted).toBe(true)
  })

  it('several leases in one register are told of their own end only', async () => {
    const lost = { a: vi.fn(), b: vi.fn(), c: vi.fn() }
    const tokens = new Map<string, number>()
    for (const id of ['a', 'b', 'c'] as const) {
      const by = id === 'c' ? peer : store
      tokens.set(id, (await grab(by, id, { share: Infinity, lost: lost[id] })).token)
    }
    await settle()
    await peer.release({ resource: 'r', token: tokens.get('a') ?? 0 })
    await settle()
    expect([lost.a, lost.b, lost.c].map((told) => told.mock.calls.length)).toEqual([1, 0, 0])
    await grab(store, 'thief', { share: undefined, replace: 'any' })
    await settle()
    expect([lost.a, lost.b, lost.c].map((told) => told.mock.calls.length)).toEqual([1, 1, 1])
    expect(await holders()).toEqual(['thief'])
  })

  it('several leases in one register are all reported when they are stolen', async () => {
    const events: StoreEvent[] = []
    for (const id of ['a', 'b']) await grab(store, id)
    await store.watch((event) => events.push(event))
    await grab(peer, 'thief', { replace: 'any' })
    await settle()
    expect(events.map((event) => event.type === 'change' && [event.lease.id, event.lease.state])).toEqual([
      ['a', 'taken-over'],
      ['b', 'taken-over'],
      ['thief', 'held'],
    ])
  })

  it.each([
    ['ended', () => peer.release({ resource: 'r', id: 'b' })],
    ['began', () => grab(peer, 'c', { share: Infinity })],
  ])('report a gap if one %s in a state that was left out', async (_, change) => {
    const events: string[] = []
    await store.watch((event) => events.push(event.type === 'gap' ? 'gap' : event.lease.id))
    for (const id of ['a', 'b']) await grab(peer, id, { share: Infinity })
    await settle()
    const { put } = registers
    registers.put = (register) => void registers.contents.set('r', register)
    await change()
    registers.put = put
    await peer.renew({ resource: 'r', id: 'a', ttl: TTL })
    await peer.renew({ resource: 'r', id: 'a', ttl: TTL })
    await settle()
    expect(events).toEqual(['a', 'b', 'gap', 'a', 'a'])
  })
})

it('a lease that keeps the resource after its end, and then no longer, is no gap', async () => {
  const events: string[] = []
  await store.watch((event) => events.push(event.type === 'gap' ? 'gap' : event.lease.state))
  await grab(peer, 'a', { share: Infinity, atLeast: 500, ttl: 60_000 })
  await grab(peer, 'b', { share: Infinity, ttl: 60_000 })
  await peer.release({ resource: 'r', id: 'a' })
  await registers.clock.advance(500)
  await peer.renew({ resource: 'r', id: 'b', ttl: 60_000 })
  await settle()
  expect(events).toEqual(['held', 'held', 'released', 'kept', 'held'])
})

describe('many holders of one register', () => {
  async function countWrites(work: () => Promise<unknown>): Promise<number> {
    let writes = 0
    registers.beforeWrite = async () => {
      writes++
      await new Promise(setImmediate)
    }
    await work()
    registers.beforeWrite = () => {}
    return writes
  }

  it('renew at once with two writes each at most', async () => {
    const names = Array.from({ length: 50 }, (_, n) => `h${n}`)
    for (const id of names) await grab(store, id, { share: Infinity })
    const writes = await countWrites(async () => {
      const renewals = await Promise.all(names.map((id) => store.renew({ resource: 'r', id, ttl: TTL })))
      expect(renewals.every(({ ok }) => ok)).toBe(true)
    })
    expect(writes).toBeLessThan(100)
  })

  it('many holders of one register do not wait for one whose request hangs', async () => {
    for (const id of ['a', 'b', 'c']) await grab(store, id, { share: Infinity, ttl: 60_000 })
    const hanging = Promise.withResolvers<null>()
    let conflicts = 0
    const { write } = registers
    registers.write = async (name, text, previous) => {
      if (++conflicts <= 3) return null
      // The first one that tries again.
      if (conflicts === 4) return hanging.promise
      return write.call(registers, name, text, previous)
    }
    const renewals = ['a', 'b', 'c'].map((id) => store.renew({ resource: 'r', id, ttl: 60_000 }))
    const failed = expect(renewals[0]).rejects.toBeInstanceOf(LeaseError)
    await registers.clock.advance(1000)
    expect(await Promise.all(renewals.slice(1))).toMatchObject([{ ok: true }, { ok: true }])
    await registers.clock.advance(5000)
    await failed
    hanging.resolve(null)
  })

  it('pause by chance after conflicts with other processes, and end with their caller', async () => {
    await grab(store, 'a')
    let writes = 0
    registers.write = async () => {
      writes++
      await registers.clock.advance(8)
      return null
    }
    const caller = new AbortController()
    const renewing = expect(
      store.renew({ resource: 'r', id: 'a', ttl: TTL }, { signal: caller.signal }),
    ).rejects.toMatchObject({ code: 'aborted' })
    await registers.clock.advance(500)
    expect(writes).toBeGreaterThan(3)
    expect(writes).toBeLessThan(30)
    caller.abort()
    await renewing
  })
})
