import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LeaseRecord, LeaseStore, StoreEvent } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock, settled } from '../testing/fake-clock.ts'
import { ExpiryQueue } from './expiry-queue.ts'
import { LeaseFeed } from './lease-feed.ts'

const TTL_MS = 30_000

describe('the feed of leases', () => {
  it('tells each start and each end once, however often it hears of them', async () => {
    const { store, told, feed } = await start()
    const lease = await grab(store, 'a')
    for (let n = 0; n < 3; n++) feed.tell(lease)
    const { ended } = await store.release({ resource: 'a', id: lease.id })
    for (let n = 0; n < 3 && ended; n++) feed.tell(ended)
    feed.tell(lease)
    await settled()
    expect(told.filter((line) => !line.startsWith('renewed'))).toEqual(['started a', 'ended a released'])
  })

  it('tells of an expiry when it happens, without a sweep', async () => {
    const { store, clock, told } = await start()
    await grab(store, 'a')
    await clock.advance(TTL_MS - 1)
    expect(told).toEqual(['started a'])
    await clock.advance(1)
    expect(told).toEqual(['started a', 'ended a expired'])
  })

  it('asks the store before it tells of an expiry: renewals may go unheard', async () => {
    const { store, clock, told, feed } = await start({ deaf: true })
    feed.tell(await grab(store, 'a'))
    await clock.advance(20_000)
    await store.renew({ resource: 'a', id: 'id of a', ttl: TTL_MS })
    await clock.advance(20_000)
    expect(told).toEqual(['started a', 'renewed a'])
    await clock.advance(10_000)
    expect(told.at(-1)).toBe('ended a expired')
  })

  it('tells the end of a lease before the start of the next, though it missed the end', async () => {
    const { store, told, feed } = await start({ deaf: true })
    feed.tell(await grab(store, 'a'))
    await store.release({ resource: 'a', id: 'id of a' })
    feed.tell(await grab(store, 'a'))
    expect(told).toEqual(['started a', 'ended a expired', 'started a'])
  })

  it('finds out after a gap what it has missed', async () => {
    const { store, clock, told, feed, interrupt } = await start({ deaf: true })
    feed.tell(await grab(store, 'ended'))
    await store.release({ resource: 'ended', id: 'id of ended' })
    await grab(store, 'begun')
    interrupt()
    await clock.advance(1)
    expect(told).toEqual(['started ended', 'started begun', 'ended ended expired'])
  })

  it('reads every minute what listeners care about', async () => {
    const { store, clock, told } = await start({ deaf: true, cared: ['a'] })
    await clock.advance(59_000)
    await grab(store, 'a')
    await clock.advance(1000)
    expect(told).toEqual(['started a'])
  })

  it('does not tell what it found when it started, but how that ends', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    await grab(store, 'a')
    const { told } = await start({ clock, store })
    expect(told).toEqual([])
    await store.release({ resource: 'a', id: 'id of a' })
    await settled()
    expect(told).toEqual(['ended a released'])
  })

  it('tries again when the store fails at the moment of an expiry', async () => {
    const { store, clock, told, errors, fail } = await start()
    await grab(store, 'a')
    await clock.advance(TTL_MS - 1)
    fail(true)
    await clock.advance(1500)
    expect(errors).not.toEqual([])
    fail(false)
    await clock.advance(1000)
    expect(told).toEqual(['started a', 'ended a expired'])
  })

  it('is silent after it was stopped', async () => {
    const { store, clock, told, feed } = await start()
    await grab(store, 'a')
    await feed.stop()
    await store.release({ resource: 'a', id: 'id of a' })
    await clock.advance(120_000)
    expect(told).toEqual(['started a'])
  })
})

describe('the queue of expiries', () => {
  it('hands out each item once, no earlier than its last deadline, in every order of delays', () => {
    fc.assert(
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

interface Setting {
  /** The store's pushes do not arrive. */
  readonly deaf?: boolean
  readonly cared?: readonly string[]
  readonly clock?: FakeClock
  readonly store?: LeaseStore
}

async function start({
  deaf = false,
  cared = [],
  clock = new FakeClock(),
  store = memoryStore({ clock }),
}: Setting = {}) {
  const told: string[] = []
  const errors: unknown[] = []
  let failing = false
  let hear: (event: StoreEvent) => void = () => {}
  const limited: LeaseStore = {
    ...store,
    async read(resources) {
      if (failing) throw new Error('away')
      return store.read(resources)
    },
    watch(on) {
      hear = on
      return store.watch((event) => deaf || on(event))
    },
  }
  const onError = (_: string, error: unknown) => errors.push(error)
  const feed = new LeaseFeed({ store: limited, clock, cared: () => cared, rereadEvery: 60_000, onError })
  await feed.start()
  feed.subscribe(({ phase, lease }) => {
    const how = phase === 'ended' ? ` ${lease.state}` : ''
    told.push(`${phase} ${lease.resource}${how}`)
  })
  const fail = (value: boolean) => {
    failing = value
  }
  return { clock, store, feed, told, errors, fail, interrupt: () => hear({ type: 'gap' }) }
}

async function grab(store: LeaseStore, resource: string): Promise<LeaseRecord> {
  const answer = await store.acquire({ resource, id: `id of ${resource}`, owner: 'me', ttl: TTL_MS })
  if (!answer.granted) throw new Error(`${resource} is held`)
  return answer.lease
}
