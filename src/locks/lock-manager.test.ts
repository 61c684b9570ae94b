import { describe, expect, expectTypeOf, it } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import type { Ask, LeaseStore } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock } from '../testing/index.ts'
import type * as own from './index.ts'
import { createLockManager } from './index.ts'

const never = new Promise<never>(() => {})

/** A store with some methods of its own. */
function storeWith(changes: (store: LeaseStore) => Partial<LeaseStore>): LeaseStore {
  const store = memoryStore()
  return { ...store, ...changes(store) }
}

/** Acquire requests are answered only when the test says so, in the order that it says. */
function heldBack() {
  const waiting: { readonly ask: Ask; send(): void }[] = []
  const store = storeWith((inner) => ({
    acquire: (ask, call) =>
      new Promise((resolve, reject) => {
        waiting.push({ ask, send: () => inner.acquire(ask, call).then(resolve, reject) })
      }),
  }))
  return { store, waiting }
}

const turns = async () => {
  for (let n = 0; n < 50; n++) await null
}

describe('a lock manager on a store', () => {
  it('a lock manager on a store sends an exclusive request when those of its name before it have a place', async () => {
    const { store, waiting } = heldBack()
    const locks = createLockManager(store)
    const granted: number[] = []
    const requests = [1, 2, 3].map((n) => locks.request('a', () => granted.push(n)))
    for (const sent of [1, 2, 3]) {
      await expect.poll(() => waiting.length).toBe(sent)
      await turns()
      expect(waiting).toHaveLength(sent)
      waiting[sent - 1]?.send()
    }
    // The second and the third had to wait. They ask again when it is their turn.
    for (const sent of [4, 5]) {
      await expect.poll(() => waiting.length).toBe(sent)
      waiting[sent - 1]?.send()
    }
    await Promise.all(requests)
    expect(granted).toEqual([1, 2, 3])
  })

  it('a lock manager on a store releases a lock when the requests that were made before have their places', async () => {
    const { store, waiting } = heldBack()
    const released: string[] = []
    const noting = {
      ...store,
      release: (...args: Parameters<LeaseStore['release']>) => {
        released.push(args[0].resource)
        return store.release(...args)
      },
    }
    const locks = createLockManager(noting)
    let second: Promise<unknown> = never
    const first = locks.request('a', () => {
      second = locks.request('a', () => {})
    })
    await turns()
    waiting[0]?.send()
    await turns()
    expect([waiting.length, released]).toEqual([2, []])
    waiting[1]?.send()
    await expect.poll(() => waiting.length).toBe(3)
    waiting[2]?.send()
    await Promise.all([first, second])
    expect(released).toHaveLength(2)
  })

  it('calls the callback of a request that waited after those that were sent before its turn came', async () => {
    const { store, waiting } = heldBack()
    const locks = createLockManager(store)
    const called: string[] = []
    let inner: Promise<unknown>[] = []
    const outer = locks.request('a', () => {
      inner = [
        locks.request('a', () => called.push('blocked')),
        locks.request('b', () => called.push('free')),
      ]
    })
    await turns()
    for (const n of [0, 1]) {
      waiting[n]?.send()
      await expect.poll(() => waiting.length).toBeGreaterThan(n + 1)
    }
    await outer
    await expect.poll(() => waiting.length).toBe(4)
    expect(waiting.map(({ ask }) => ask.resource.slice(-1))).toEqual(['a', 'a', 'b', 'a'])
    waiting[3]?.send()
    await turns()
    expect(called).toEqual([])
    waiting[2]?.send()
    await Promise.all(inner)
    expect(called).toEqual(['free', 'blocked'])
  })

  it('a lock manager on a store releases a lock after a second though the store does not answer to a request before', async () => {
    const clock = new FakeClock()
    const memory = memoryStore({ clock })
    let asked = 0
    const silent = {
      ...memory,
      acquire: (...args: Parameters<LeaseStore['acquire']>) =>
        asked++ === 0 ? memory.acquire(...args) : never,
    }
    const locks = createLockManager(silent, { clock })
    let isReleased = false
    const first = locks.request('a', () => {
      locks.request('a', () => {}).catch(() => {})
    })
    void first.then(() => {
      isReleased = true
    })
    await clock.advance(999)
    expect([asked, isReleased]).toEqual([2, false])
    await clock.advance(2)
    expect(isReleased).toBe(true)
    const closed = locks.close()
    await clock.advance(60_000)
    await closed
  })

  it('a lock manager on a store sends shared requests together, and calls their callbacks in order although the answers are not', async () => {
    const { store, waiting } = heldBack()
    const locks = createLockManager(store)
    const granted: string[] = []
    const requests = ['a', 'b', 'a'].map((name, n) =>
      locks.request(name, { mode: 'shared' }, () => granted.push(`${name}${n}`)),
    )
    await turns()
    expect(waiting).toHaveLength(3)
    waiting[2]?.send()
    waiting[1]?.send()
    await turns()
    expect(granted).toEqual([])
    waiting[0]?.send()
    await Promise.all(requests)
    expect(granted).toEqual(['a0', 'b1', 'a2'])
  })

  it('calls no callback before one of an earlier request, also if another one between them waits', async () => {
    const { store, waiting } = heldBack()
    const locks = createLockManager(store)
    const release = Promise.withResolvers<void>()
    const holder = createLockManager(store).request('b', () => release.promise)
    await turns()
    waiting[0]?.send()
    await turns()
    const granted: string[] = []
    const requests = ['a', 'b', 'c'].map((name) => locks.request(name, () => granted.push(name)))
    await turns()
    waiting[2]?.send()
    waiting[3]?.send()
    await turns()
    expect(granted).toEqual([])
    waiting[1]?.send()
    await requests[2]
    expect(granted).toEqual(['a', 'c'])
    release.resolve()
    await holder
    await expect.poll(() => waiting.length).toBe(5)
    waiting[4]?.send()
    await requests[1]
  })

  it('a lock manager on a store obeys a signal between the grant and the turn of the callback, and frees the lock', async () => {
    const { store, waiting } = heldBack()
    const locks = createLockManager(store)
    const controller = new AbortController()
    const first = locks.request('x', () => {})
    const aborted = locks.request('a', { signal: controller.signal }, () => 'called')
    await turns()
    waiting[1]?.send()
    await turns()
    controller.abort('enough')
    waiting[0]?.send()
    await first
    await expect(aborted).rejects.toBe('enough')
    await turns()
    expect((await locks.query()).held).toEqual([])
  })

  it('a lock manager on a store shows a request whose turn has come as held', async () => {
    const { store, waiting } = heldBack()
    const locks = createLockManager(store)
    const release = Promise.withResolvers<void>()
    const first = locks.request('a', () => release.promise)
    const second = locks.request('a', { mode: 'shared' }, () => {})
    for (const sent of [0, 1]) {
      await expect.poll(() => waiting.length).toBe(sent + 1)
      waiting[sent]?.send()
    }
    await turns()
    expect(await locks.query()).toMatchObject({
      held: [{ mode: 'exclusive' }],
      pending: [{ mode: 'shared' }],
    })
    release.resolve()
    await first
    await expect.poll(() => waiting.length).toBe(3)
    expect(await locks.query()).toMatchObject({ held: [{ mode: 'shared' }], pending: [] })
    waiting[2]?.send()
    await second
  })

  it('a lock manager on a store shows a request that is granted while it looks', async () => {
    const { store, waiting } = heldBack()
    const release = Promise.withResolvers<void>()
    const locks = createLockManager({
      ...store,
      async read(resources) {
        const found = await store.read(resources)
        waiting[0]?.send()
        await turns()
        return found
      },
    })
    const request = locks.request('a', () => release.promise)
    await turns()
    expect(await locks.query()).toMatchObject({ held: [{ name: 'a' }], pending: [] })
    release.resolve()
    await request
  })

  it('a lock manager on a store keeps the order of a name when a request fails and is sent again, and delays no other name', async () => {
    let failures = 1
    const store = storeWith((inner) => ({
      acquire: async (ask, call) => {
        if (failures-- > 0) throw new LeaseError('store-unavailable', 'no answer')
        return inner.acquire(ask, call)
      },
    }))
    const locks = createLockManager(store, { retry: () => 5 })
    const granted: string[] = []
    await Promise.all(['a1', 'a2', 'b1'].map((n) => locks.request(n.charAt(0), () => granted.push(n))))
    expect(granted).toEqual(['b1', 'a1', 'a2'])
  })

  it('a lock manager on a store rejects the request as a steal does when the lease is lost, and its callback continues', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    const locks = createLockManager(
      { ...store, renew: async () => ({ ok: false, holders: [] }) },
      { clock, ttl: 3000 },
    )
    const work = Promise.withResolvers<void>()
    let isDone = false
    const request = locks.request('a', async () => {
      await work.promise
      isDone = true
    })
    const rejected = expect(request).rejects.toSatisfy(
      (error: DOMException & { cause: LeaseError }) =>
        error instanceof DOMException && error.name === 'AbortError' && error.cause.code === 'lease-lost',
    )
    await turns()
    await clock.advance(1000)
    await rejected
    expect(isDone).toBe(false)
    work.resolve()
    await expect.poll(() => isDone).toBe(true)
  })

  it('a lock manager on a store rejects if only the release shows that another has the lock', async () => {
    const store = memoryStore()
    const deaf = { ...store, acquire: (ask: Ask) => store.acquire({ ...ask, lost: () => {} }) }
    const request = createLockManager(deaf).request('a', async () => {
      await createLockManager(store).request('a', { steal: true }, () => {})
      return 'done'
    })
    await expect(request).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('a lock manager on a store does not call a callback whose lease was lost before', async () => {
    const { store, waiting } = heldBack()
    const locks = createLockManager(store)
    let isCalled = false
    const first = locks.request('x', () => {})
    const stolen = locks.request('a', () => {
      isCalled = true
    })
    await turns()
    waiting[1]?.send()
    await turns()
    const thief = createLockManager(store).request('a', { steal: true }, () => never)
    thief.catch(() => {})
    await turns()
    waiting[2]?.send()
    await turns()
    waiting[0]?.send()
    await first
    await expect(stolen).rejects.toMatchObject({ name: 'AbortError' })
    expect(isCalled).toBe(false)
  })

  it('a lock manager on a store tells stolen requests at once, also if the store cannot push', async () => {
    const quiet = storeWith((inner) => ({
      supports: { ...inner.supports, push: false },
      acquire: (ask, call) => inner.acquire({ ...ask, lost: () => {} }, call),
    }))
    const locks = createLockManager(quiet)
    const order: string[] = []
    const stolen = locks.request('a', () => never).catch(() => order.push('stolen'))
    await locks.request('a', { steal: true }, async () => {
      await stolen
      order.push('thief ends')
    })
    expect(order).toEqual(['stolen', 'thief ends'])
  })

  it('a lock manager on a store shows an aborted request no longer', async () => {
    const locks = createLockManager(memoryStore())
    const controller = new AbortController()
    const holder = locks.request('a', () => never)
    const aborted = locks.request('a', { signal: controller.signal }, () => {})
    expect((await locks.query()).pending).toHaveLength(1)
    controller.abort('enough')
    await expect(aborted).rejects.toBe('enough')
    expect((await locks.query()).pending).toEqual([])
    holder.catch(() => {})
  })

  it('a lock manager on a store renews its leases', async () => {
    const clock = new FakeClock()
    const locks = createLockManager(memoryStore({ clock }), { clock, ttl: 3000 })
    const work = Promise.withResolvers<string>()
    const request = locks.request('a', () => work.promise)
    await turns()
    for (let n = 0; n < 10; n++) await clock.advance(1000)
    expect((await locks.query()).held).toHaveLength(1)
    work.resolve('kept')
    expect(await request).toBe('kept')
  })

  it('a lock manager on a store shows the requests of other managers, with mode and client id', async () => {
    const store = memoryStore()
    const [one, two] = ['one', 'two'].map((owner) => createLockManager(store, { owner }))
    const long = 'x'.repeat(600)
    const release = Promise.withResolvers<void>()
    const granted = Promise.withResolvers<void>()
    const requests = [
      one?.request('a', { mode: 'shared' }, () => release.promise),
      two?.request('a', { mode: 'shared' }, () => release.promise),
      one?.request('a', () => {}),
      two?.request(long, () => {
        granted.resolve()
        return release.promise
      }),
    ]
    await granted.promise
    requests.push(one?.request(long, { mode: 'shared' }, () => {}))
    // Locks of different names that were granted in the same millisecond have no order.
    const byName = async (manager: typeof one) => {
      const { held = [], pending } = (await manager?.query()) ?? {}
      return { held: held.toSorted((a, b) => String(a.name).localeCompare(String(b.name))), pending }
    }
    for (const manager of [one, two])
      await expect
        .poll(() => byName(manager))
        .toEqual({
          held: [
            { name: 'a', mode: 'shared', clientId: 'one' },
            { name: 'a', mode: 'shared', clientId: 'two' },
            { name: long, mode: 'exclusive', clientId: 'two' },
          ],
          pending: expect.arrayContaining([
            { name: 'a', mode: 'exclusive', clientId: 'one' },
            { name: long, mode: 'shared', clientId: 'one' },
          ]),
        })
    release.resolve()
    await Promise.all(requests)
    expect(await one?.query()).toEqual({ held: [], pending: [] })
  })

  it('a lock manager that is closed during a request leaves no lock that nobody holds', async () => {
    const mayArrive = Promise.withResolvers<void>()
    const store = memoryStore()
    const late = createLockManager({
      ...store,
      acquire: (ask) => mayArrive.promise.then(() => store.acquire(ask)),
    })
    const request = expect(late.request('late', () => {})).rejects.toMatchObject({ name: 'AbortError' })
    const closing = late.close()
    await request
    mayArrive.resolve()
    await closing
    expect((await store.list({ limit: 1 })).leases).toEqual([])
  })

  it('a lock manager that is closed rejects what it holds, what waits and what comes, and frees the locks', async () => {
    const store = memoryStore()
    const locks = createLockManager(store)
    const requests = [locks.request('a', () => never), locks.request('a', () => {})]
    const rejected = requests.map((request) =>
      expect(request).rejects.toMatchObject({ name: 'AbortError', cause: { code: 'closed' } }),
    )
    await turns()
    await locks[Symbol.asyncDispose]()
    await Promise.all(rejected)
    await expect(locks.request('b', () => {})).rejects.toMatchObject({ cause: { code: 'closed' } })
    await expect(locks.query()).rejects.toMatchObject({ code: 'closed' })
    expect(await createLockManager(store).request('a', { ifAvailable: true }, (lock) => lock?.name)).toBe('a')
  })

  it('rejects with the LeaseError of a store that fails', async () => {
    const failing = async () => {
      throw new LeaseError('store-failed', 'no rights')
    }
    const locks = createLockManager({ ...memoryStore(), acquire: failing })
    await expect(locks.request('a', () => {})).rejects.toMatchObject({ code: 'store-failed' })
    await expect(locks.request('a', { ifAvailable: true }, () => {})).rejects.toMatchObject({
      code: 'store-failed',
    })
  })

  it('a lock manager on a store refuses shared locks and steals if the store cannot do them', async () => {
    const plain = storeWith(({ supports }) => ({ supports: { ...supports, share: false } }))
    const locks = createLockManager(plain)
    for (const options of [{ mode: 'shared' }, { steal: true }] as const)
      await expect(locks.request('a', options, () => {})).rejects.toMatchObject({
        name: 'NotSupportedError',
        message: 'the memory store cannot share or steal a lock',
      })
    expect(await locks.request('a', () => 'exclusive')).toBe('exclusive')
  })

  it('a lock manager on a store accepts a promise of a store', async () => {
    const locks = createLockManager(Promise.resolve(memoryStore()))
    const granted: number[] = []
    await Promise.all([1, 2].map((n) => locks.request('a', () => granted.push(n))))
    expect(granted).toEqual([1, 2])
  })

  it('a lock manager on a store refuses a time limit, and a value that is not a store', () => {
    const wait = { wait: '5s' } as object
    expect(() => createLockManager(memoryStore(), wait)).toThrow('wait: expected no limit')
    expect(() => createLockManager({} as never)).toThrow('store: expected a LeaseStore')
    for (const options of [null, 'redis://localhost'] as never[])
      expect(() => createLockManager(memoryStore(), options)).toThrow('options: expected an object')
  })
})

describe('the types', () => {
  it('the types are those of the DOM', () => {
    expectTypeOf(createLockManager(memoryStore())).toExtend<LockManager>()
    expectTypeOf<LockManager>().toExtend<own.LockManager>()
    expectTypeOf<own.LockManagerSnapshot>().toExtend<LockManagerSnapshot>()
    expectTypeOf<own.LockInfo>().toEqualTypeOf<LockInfo>()
    expectTypeOf<LockOptions>().toExtend<own.LockOptions>()
    expectTypeOf<own.Lock>().toEqualTypeOf<Lock>()
    expectTypeOf<own.LockMode>().toEqualTypeOf<LockMode>()
    expectTypeOf(createLockManager(memoryStore()).request('a', async () => 1)).toEqualTypeOf<
      Promise<number>
    >()
  })
})
