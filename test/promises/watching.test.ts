import { describe, expect, it } from 'vitest'
import {
  createLeases,
  type Grant,
  type LeasePage,
  type LeaseStore,
  type StoreEvent,
  type WatchEvent,
} from '../../src/core/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { FakeClock } from '../../src/testing/index.ts'
import { setUp } from './set-up.ts'

const HOUR = 3_600_000

/** A watch of a manager whose store loses pushes, reads and lists on demand. */
async function watching({ prefix = '' } = {}) {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  let push: (event: StoreEvent) => void = () => {}
  const faults: { isSilent?: boolean; failure?: Error | null; listed?: Promise<LeasePage> } = {}
  let ended = 0
  const unless = <T>(answer: () => Promise<T>): Promise<T> =>
    faults.failure ? Promise.reject(faults.failure) : answer()
  const fragile: LeaseStore = {
    ...store,
    list: (query) => unless(() => faults.listed ?? store.list(query)),
    read: (resources) => unless(() => store.read(resources)),
    async watch(on, query) {
      push = on
      const source = await store.watch((event) => faults.isSilent || on(event), query)
      return {
        async [Symbol.asyncDispose]() {
          ended++
          await source[Symbol.asyncDispose]()
        },
      }
    },
  }
  const seen: string[] = []
  const say = (event: WatchEvent) =>
    seen.push(event.type === 'gap' ? `gap ${event.error?.code ?? ''}` : `${event.type} ${event.lease.owner}`)
  const leases = createLeases(fragile, { clock })
  let n = 0
  const take = async (owner: string, resource = 'a', ttl = HOUR) => {
    const ask = { resource, id: `${owner} ${++n}`, owner, ttl, share: 9 }
    const answer = await store.acquire(ask)
    if (!answer.granted) throw new Error('refused')
    return answer.lease
  }
  return {
    ...{ clock, store, leases, seen, take, faults },
    watch: () => leases.watch({ prefix }, say),
    push: (event: StoreEvent) => push(event),
    ends: () => ended,
  }
}

describe('a watch of kept resources', () => {
  const kept = { resource: 'job', id: 'mine', owner: 'mine', ttl: HOUR, atLeast: 5000 }

  it('reports that a resource is kept and freed, when its time is over or by force', async () => {
    const { clock, store, watch, seen } = await watching()
    await using shown = await watch()
    const take = async () => {
      const { lease } = (await store.acquire(kept)) as Grant
      await store.release({ resource: 'job', id: 'mine' })
      await clock.advance(1000)
      return lease
    }
    await take()
    expect(shown.live).toMatchObject([{ state: 'kept', owner: 'mine', remaining: expect.closeTo(4000, 3) }])
    expect(seen).toEqual(['granted mine', 'released mine', 'kept mine'])
    await clock.advance(5000)
    expect([seen.slice(3), shown.live]).toEqual([['freed mine'], []])
    const { token } = await take()
    await store.release({ resource: 'job', token })
    await clock.advance(2000)
    expect([seen.slice(4), shown.live]).toEqual([
      ['granted mine', 'released mine', 'kept mine', 'freed mine'],
      [],
    ])
  })

  it('a watch of kept resources finds a resource that is kept already, and the end of a lease that a push missed', async () => {
    const { clock, store, watch, seen, faults } = await watching()
    await store.acquire({ ...kept, lockDelay: 5000, ttl: 1000, atLeast: 0 })
    await using shown = await watch()
    faults.isSilent = true
    await clock.advance(2500)
    expect(seen).toEqual(['expired mine', 'kept mine'])
    expect(shown.live).toMatchObject([{ state: 'kept', remaining: expect.closeTo(3500, 3) }])
    await using second = await watch()
    expect(second.live).toMatchObject([{ state: 'kept', remaining: expect.closeTo(3500, 3) }])
  })
})

const owners = (leases: readonly { readonly owner: string }[]) => leases.map(({ owner }) => owner).toSorted()

describe('a watch of everyone’s leases', () => {
  it('a watch of everyone’s leases reports grants, renewals and ends of several holders of one resource, each once', async () => {
    const { store, seen, take, ...w } = await watching()
    const first = await take('mika')
    const watch = await w.watch()
    const second = await take('zoe')
    await store.renew({ resource: 'a', id: first.id, ttl: 2 * HOUR })
    await store.release({ resource: 'a', token: second.token })
    await w.clock.advance(5000)
    expect(seen).toEqual(['granted zoe', 'renewed mika', 'released zoe'])
    expect(owners(watch.live)).toEqual(['mika'])
    expect(watch.live[0]?.remaining).toBeCloseTo(2 * HOUR - 5000)
  })

  it('a watch of everyone’s leases reports only resources with the prefix', async () => {
    const { seen, take, ...w } = await watching({ prefix: 'a' })
    await using _ = await w.watch()
    await take('mika', 'a1')
    await take('zoe', 'b')
    expect(seen).toEqual(['granted mika'])
  })

  it('a watch of everyone’s leases reports an expiry that the store does not announce, once, also if that is announced later', async () => {
    const { store, clock, seen, take, ...w } = await watching()
    await take('mika', 'a', 2000)
    await take('zoe', 'a', HOUR)
    const watch = await w.watch()
    await clock.advance(1500)
    expect(seen).toEqual([])
    await clock.advance(2000)
    expect(seen).toEqual(['expired mika'])
    await store.sweep({ limit: 10 })
    expect(seen).toEqual(['expired mika'])
    expect(owners(watch.live)).toEqual(['zoe'])
  })

  it('a watch of everyone’s leases reports a gap, and then what happened meanwhile', async () => {
    const { store, clock, seen, take, ...w } = await watching()
    const mika = await take('mika')
    const ken = await take('ken')
    await using _ = await w.watch()
    w.faults.isSilent = true
    await store.release({ resource: 'a', id: mika.id })
    await take('zoe', 'b')
    await store.renew({ resource: 'a', id: ken.id, ttl: 2 * HOUR })
    w.push({ type: 'gap' })
    await clock.advance(1000)
    expect(seen).toEqual(['gap ', 'renewed ken', 'granted zoe', 'released mika'])
  })

  it('a watch of everyone’s leases finds within a minute what was neither pushed nor missed in a gap', async () => {
    const { clock, seen, take, ...w } = await watching()
    await using _ = await w.watch()
    w.faults.isSilent = true
    await take('mika')
    await clock.advance(60_000)
    expect(seen).toEqual(['granted mika'])
  })

  it('a watch of everyone’s leases does not report a lease as live again that ended while it was listed', async () => {
    const { store, clock, seen, take, ...w } = await watching()
    const mika = await take('mika')
    const watch = await w.watch()
    await store.release({ resource: 'a', id: mika.id })
    w.push({ type: 'change', lease: mika })
    await clock.advance(1000)
    expect(seen).toEqual(['released mika'])
    expect(watch.live).toEqual([])
  })

  it('a watch of everyone’s leases believes a push rather than a list that is older', async () => {
    const { clock, seen, take, ...w } = await watching()
    const mika = await take('mika')
    const zoe = await take('zoe')
    const watch = await w.watch()
    const { promise, resolve } = Promise.withResolvers<LeasePage>()
    w.faults.listed = promise
    w.push({ type: 'gap' })
    await clock.advance(1000)
    for (const lease of [mika, zoe])
      w.push({ type: 'change', lease: { ...lease, expiresAt: (lease.expiresAt ?? 0) + HOUR } })
    resolve({ leases: [zoe] })
    await clock.advance(1000)
    expect(seen).toEqual(['gap ', 'renewed mika', 'renewed zoe'])
    expect(watch.live.map(({ expiresAt }) => expiresAt)).toEqual([
      (mika.expiresAt ?? 0) + HOUR,
      (zoe.expiresAt ?? 0) + HOUR,
    ])
  })

  it('a watch of everyone’s leases reports one gap with the error if the store fails, and goes on when it answers again', async () => {
    const { clock, seen, take, ...w } = await watching()
    await take('mika', 'a', 2000)
    await using _ = await w.watch()
    w.faults.failure = new Error('out of order')
    await clock.advance(10_000)
    expect(seen).toEqual(['gap store-failed'])
    w.faults.failure = null
    await clock.advance(1000)
    expect(seen).toEqual(['gap store-failed', 'expired mika'])
  })

  it('a watch of everyone’s leases is not disturbed by a listener that throws or rejects', async () => {
    const { leases, take, clock } = await watching()
    let calls = 0
    await using _ = await leases.watch({}, () => {
      calls++
      if (calls === 1) throw new Error('mine')
      return Promise.reject(new Error('mine too')) as never
    })
    await take('mika')
    await take('zoe')
    await take('ken')
    await clock.advance(1)
    expect(calls).toBe(3)
  })

  it('ends with close, with its scope and with the manager, and then reports and asks nothing more', async () => {
    const { leases, clock, seen, take, ...w } = await watching()
    const first = await w.watch()
    await first.close()
    await first.close()
    {
      await using _ = await w.watch()
    }
    await w.watch()
    await leases.close()
    await clock.advance(0)
    expect([w.ends() >= 3, clock.pending]).toEqual([true, 0])
    await take('mika', 'a', 2000)
    w.push({ type: 'gap' })
    await clock.advance(5000)
    expect([seen, clock.pending]).toEqual([[], 0])
    await expect(w.watch()).rejects.toMatchObject({ code: 'closed' })
  })

  it('a watch of everyone’s leases ends what it has opened if the manager is closed meanwhile', async () => {
    const { leases, clock, ...w } = await watching()
    const opening = w.watch()
    const closing = leases.close()
    await expect(opening).rejects.toMatchObject({ code: 'closed' })
    await closing
    expect(clock.pending).toBe(0)
  })

  it('a watch of everyone’s leases says once that the store was closed, and asks it nothing more', async () => {
    const { clock, store, seen, ...w } = await watching()
    await w.watch()
    await store.close()
    w.push({ type: 'gap' })
    await clock.advance(5000)
    expect([seen, clock.pending]).toEqual([['gap ', 'gap closed'], 0])
  })

  it('a watch of everyone’s leases is refused by name if the store has no push or no looking half, and so is a wrong argument', async () => {
    const { leases } = setUp({ push: false })
    await expect(leases.watch({}, () => {})).rejects.toThrow('that pushes changes, got "memory"')
    const { supports, acquire, renew, release, close, watch } = memoryStore()
    const holding = { kind: 'mine', supports, acquire, renew, release, close }
    await expect(createLeases(holding).watch({}, () => {})).rejects.toThrow('got "mine"')
    await expect(createLeases({ ...holding, watch }).watch({}, () => {})).rejects.toThrow(
      'a LeaseStore (with list)',
    )
    await expect(leases.watch({ prefx: '' } as never, () => {})).rejects.toThrow('did you mean `prefix`')
    await expect(leases.watch({}, 'listener' as never)).rejects.toThrow('listener: expected a function')
  })
})
