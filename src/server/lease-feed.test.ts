import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import type { LeaseRecord, LeaseStore, StoreEvent } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock, settled } from '../testing/fake-clock.ts'
import { ExpiryQueue } from './expiry-queue.ts'
import { LeaseFeed } from './lease-feed.ts'

const TTL_MS = 30_000

describe('the lease feed', () => {
  it('the lease feed reports each start and each end once, however often it observes them', async () => {
    const { store, reported, feed } = await start()
    const lease = await grab(store, 'a')
    for (let n = 0; n < 3; n++) feed.observe(lease)
    const { ended } = await store.release({ resource: 'a', id: lease.id })
    for (let n = 0; n < 3 && ended; n++) feed.observe(ended)
    feed.observe(lease)
    await settled()
    expect(reported.filter((line) => !line.startsWith('renewed'))).toEqual(['started a', 'ended a released'])
  })

  it('the lease feed reports a renewal once, though an older report comes after it', async () => {
    const { store, clock, reported, feed } = await start({ withoutPush: true })
    const first = await grab(store, 'a')
    await clock.advance(1000)
    const renewed = await grab(store, 'a')
    for (const lease of [first, renewed, first, renewed]) feed.observe(lease)
    expect(reported).toEqual(['started a', 'renewed a'])
    expect(feed.leasesOf('a')).toEqual([renewed])
  })

  it('the lease feed reports an expiry when it happens, without a sweep', async () => {
    const { store, clock, reported } = await start()
    await grab(store, 'a')
    await clock.advance(TTL_MS - 1)
    expect(reported).toEqual(['started a'])
    await clock.advance(1)
    expect(reported).toEqual(['started a', 'ended a expired'])
  })

  it('reports that a resource is kept, and that it is free again when its time is over', async () => {
    const { store, clock, reported, feed } = await start()
    const { id } = await grab(store, 'a', 'mine', undefined, 60_000)
    await store.release({ resource: 'a', id })
    await settled()
    expect(reported).toEqual(['started a', 'ended a released', 'kept a'])
    expect([feed.live, feed.kept, [...feed.resources], feed.leasesOf('a')]).toEqual([0, 1, ['a'], []])
    await clock.advance(60_000)
    expect(reported.slice(3)).toEqual(['freed a released'])
    expect([feed.live, feed.kept, [...feed.resources]]).toEqual([0, 0, []])
  })

  it('the lease feed reports once that a kept resource was freed by force or stolen, in whatever order it hears of it', async () => {
    const { store, reported, feed } = await start()
    const { id, token } = await grab(store, 'a', 'mine', undefined, 60_000)
    await store.release({ resource: 'a', id })
    const [[kept] = []] = await store.read(['a'])
    const { ended } = await store.release({ resource: 'a', token })
    for (const lease of [kept, ended, kept, ended]) if (lease) feed.observe(lease)
    await settled()
    expect(reported.slice(2)).toEqual(['kept a', 'freed a released'])
    const again = await grab(store, 'a', 'again', undefined, 60_000)
    await store.release({ resource: 'a', id: again.id })
    await settled()
    feed.observe({ ...again, id: 'thief', token: again.token + 1 })
    expect(reported.slice(-3)).toEqual(['kept a', 'freed a taken-over', 'started a'])
  })

  it('the lease feed reports the end of a lease that it finds kept after a gap', async () => {
    const { store, clock, reported, interrupt } = await start({ withoutPush: true })
    await grab(store, 'a', 'mine', undefined, 60_000)
    interrupt()
    await clock.advance(1)
    await store.release({ resource: 'a', id: 'mine' })
    interrupt()
    await clock.advance(1)
    expect(reported).toEqual(['started a', 'ended a expired', 'kept a'])
  })

  it('the lease feed reads the store before it reports an expiry, because it may have missed a renewal', async () => {
    const { store, clock, reported, feed } = await start({ withoutPush: true })
    feed.observe(await grab(store, 'a'))
    await clock.advance(20_000)
    await store.renew({ resource: 'a', id: 'id of a', ttl: TTL_MS })
    await clock.advance(20_000)
    expect(reported).toEqual(['started a', 'renewed a'])
    await clock.advance(10_000)
    expect(reported.at(-1)).toBe('ended a expired')
  })

  it('the lease feed reports the end of a lease before the start of the next, even if it missed the end', async () => {
    const { store, reported, feed } = await start({ withoutPush: true })
    feed.observe(await grab(store, 'a'))
    await store.release({ resource: 'a', id: 'id of a' })
    feed.observe(await grab(store, 'a'))
    expect(reported).toEqual(['started a', 'ended a expired', 'started a'])
  })

  it('the lease feed finds what it has missed after a gap', async () => {
    const { store, clock, reported, feed, interrupt } = await start({ withoutPush: true })
    feed.observe(await grab(store, 'ended'))
    await store.release({ resource: 'ended', id: 'id of ended' })
    await grab(store, 'begun')
    interrupt()
    await clock.advance(1)
    expect(reported).toEqual(['started ended', 'started begun', 'ended ended expired'])
  })

  it('the lease feed reads the relevant resources every minute', async () => {
    const { store, clock, reported } = await start({ withoutPush: true, relevant: ['a'] })
    await clock.advance(59_000)
    await grab(store, 'a')
    await clock.advance(1000)
    expect(reported).toEqual(['started a'])
  })

  it('the lease feed does not report the leases that it found at its start, but reports their end', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    await grab(store, 'a')
    const { reported } = await start({ clock, store })
    expect(reported).toEqual([])
    await store.release({ resource: 'a', id: 'id of a' })
    await settled()
    expect(reported).toEqual(['ended a released'])
  })

  it('the lease feed tries again when the store fails at an expiry', async () => {
    const { store, clock, reported, errors, fail } = await start()
    await grab(store, 'a')
    await clock.advance(TTL_MS - 1)
    fail(true)
    await clock.advance(1500)
    expect(errors).not.toEqual([])
    fail(false)
    await clock.advance(1000)
    expect(reported).toEqual(['started a', 'ended a expired'])
  })

  it('the lease feed reports each of several leases of a resource, in any order and once', async () => {
    const { store, reported, feed } = await start({ withoutPush: true })
    const [a, b] = [await grab(store, 'r', 'a', 2), await grab(store, 'r', 'b', 2)]
    for (const lease of [b, a, b, a]) feed.observe(lease)
    expect(feed.live).toBe(2)
    const { ended } = await store.release({ resource: 'r', id: 'b' })
    for (const lease of [ended, b, a]) if (lease) feed.observe(lease)
    expect(reported).toEqual(['started r', 'started r', 'ended r released'])
    expect(feed.leasesOf('r').map(({ id }) => id)).toEqual(['a'])
    expect([feed.live, [...feed.resources]]).toEqual([1, ['r']])
  })

  it('the lease feed reports the end of all earlier leases before the start of an exclusive one', async () => {
    const { store, reported, feed } = await start({ withoutPush: true })
    const shared = [await grab(store, 'r', 'a', 2), await grab(store, 'r', 'b', Infinity)]
    for (const lease of shared) feed.observe(lease)
    for (const id of ['a', 'b']) await store.release({ resource: 'r', id })
    feed.observe(await grab(store, 'r', 'c'))
    for (const lease of shared) feed.observe(lease)
    expect(reported).toEqual(['started r', 'started r', 'ended r expired', 'ended r expired', 'started r'])
    expect(feed.live).toBe(1)
  })

  it('the lease feed reports the expiry of one of several leases, and not that of the others', async () => {
    const { store, clock, reported, feed } = await start()
    await grab(store, 'r', 'a', 2)
    await clock.advance(10_000)
    await grab(store, 'r', 'b', 2)
    await clock.advance(TTL_MS - 10_000)
    expect(reported).toEqual(['started r', 'started r', 'ended r expired'])
    expect(feed.leasesOf('r').map(({ id }) => id)).toEqual(['b'])
    await clock.advance(10_000)
    expect(reported.at(-1)).toBe('ended r expired')
    expect(feed.live).toBe(0)
  })

  it('the lease feed finds after a gap which of several leases have ended', async () => {
    const { store, clock, reported, feed, interrupt } = await start({ withoutPush: true })
    for (const id of ['a', 'b']) feed.observe(await grab(store, 'r', id, Infinity))
    await store.release({ resource: 'r', id: 'a' })
    await grab(store, 'r', 'c', Infinity)
    interrupt()
    await clock.advance(1)
    expect(reported).toEqual(['started r', 'started r', 'started r', 'ended r expired'])
    expect(feed.leasesOf('r').map(({ id }) => id)).toEqual(['b', 'c'])
  })

  it('the lease feed reports nothing after it was closed', async () => {
    const { store, clock, reported, feed } = await start()
    await grab(store, 'a')
    await feed.close()
    await store.release({ resource: 'a', id: 'id of a' })
    await clock.advance(120_000)
    expect(reported).toEqual(['started a'])
  })
})

describe('the expiry queue', () => {
  it('the expiry queue returns each item once, at its last deadline, however often the deadline moved', () => {
    checkProperty(
      fc.property(fc.array(fc.tuple(fc.nat(100), fc.nat(100)), { maxLength: 60 }), (deadlines) => {
        const queue = new ExpiryQueue<{ deadline: number; over: boolean; taken: number }>()
        const items = deadlines.map(([first, more]) => {
          const item = { deadline: first, over: false, taken: -1 }
          queue.add(item)
          item.deadline += more
          return item
        })
        for (let now = 0; now <= 200; now++)
          for (const item of queue.takeDue(now)) {
            expect(item.taken).toBe(-1)
            item.taken = now
          }
        expect(items.map(({ taken }) => taken)).toEqual(items.map(({ deadline }) => deadline))
        expect(queue.next).toBeUndefined()
      }),
    )
  })
})

interface Conditions {
  /** The store's pushes do not arrive. */
  readonly withoutPush?: boolean
  readonly relevant?: readonly string[]
  readonly clock?: FakeClock
  readonly store?: LeaseStore
}

async function start({
  withoutPush = false,
  relevant = [],
  clock = new FakeClock(),
  store = memoryStore({ clock }),
}: Conditions = {}) {
  const reported: string[] = []
  const errors: unknown[] = []
  let failing = false
  let push: (event: StoreEvent) => void = () => {}
  const limited: LeaseStore = {
    ...store,
    async read(resources) {
      if (failing) throw new Error('away')
      return store.read(resources)
    },
    watch(on) {
      push = on
      return store.watch((event) => withoutPush || on(event))
    },
  }
  const onError = (_: string, error: unknown) => errors.push(error)
  const feed = new LeaseFeed({
    store: limited,
    clock,
    relevant: () => relevant,
    rereadEvery: 60_000,
    onError,
  })
  await feed.start()
  feed.subscribe(({ phase, lease }) => {
    const how = phase === 'ended' || phase === 'freed' ? ` ${lease.state}` : ''
    reported.push(`${phase} ${lease.resource}${how}`)
  })
  const fail = (value: boolean) => {
    failing = value
  }
  return { clock, store, feed, reported, errors, fail, interrupt: () => push({ type: 'gap' }) }
}

async function grab(
  store: LeaseStore,
  resource: string,
  id = `id of ${resource}`,
  share?: number,
  atLeast?: number,
): Promise<LeaseRecord> {
  const answer = await store.acquire({ resource, id, owner: 'me', ttl: TTL_MS, share, atLeast })
  if (!answer.granted) throw new Error(`${resource} is held`)
  return answer.lease
}
