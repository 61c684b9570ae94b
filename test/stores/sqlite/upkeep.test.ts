import { describe, expect, it } from 'vitest'
import type { StoreEvent } from '../../../src/core/index.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { asking, granted } from '../asking.ts'
import { DatabaseFile } from './database-file.ts'

const HOUR_MS = 3_600_000

describe('rows that nobody needs', () => {
  it('rows that nobody needs are deleted some at a time by later acquisitions, and later tokens are higher than theirs', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const store = file.store({ clock })
    let last = 0
    for (let n = 0; n < 1200; n++) {
      const { id, token } = granted(await store.acquire(asking(`job:${n}`)))
      await store.release({ resource: `job:${n}`, id })
      last = token
    }
    const rows = () => file.count('holdfast_leases')
    await clock.advance(2 * HOUR_MS)
    await store.acquire(asking('kept'))
    expect(rows()).toBe(701)
    await store.acquire(asking('kept'))
    expect(rows()).toBe(701)
    for (let n = 0; n < 2; n++) {
      await clock.advance(1000)
      await store.acquire(asking('kept'))
    }
    expect(rows()).toBe(1)
    clock.jump(-3 * HOUR_MS)
    for (const resource of ['job:1199', 'job:1'])
      expect(granted(await store.acquire(asking(resource))).token).toBeGreaterThan(last)
  })
})

describe('the log of changes', () => {
  const changes = (file: DatabaseFile) => file.count('holdfast_leases_changes')

  it('the log of changes is written only while somebody watches', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const [store, peer] = [file.store({ clock }), file.store({ clock })]
    const { id } = granted(await store.acquire(asking('before')))
    await store.renew({ resource: 'before', id, ttl: 60_000 })
    expect(changes(file)).toBe(0)
    const watch = await peer.watch(() => {})
    granted(await store.acquire(asking('during')))
    await clock.advance(40_000)
    granted(await store.acquire(asking('long after')))
    expect(changes(file)).toBe(2)
    await watch[Symbol.asyncDispose]()
    await clock.advance(31_000)
    granted(await store.acquire(asking('after')))
    expect(changes(file)).toBe(2)
  })

  it('the log of changes is kept short, and a watcher that reads it too late is told of a gap', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const [store, peer] = [file.store({ clock }), file.store({ clock })]
    const seen: StoreEvent[] = []
    await peer.watch((event) => seen.push(event))
    const { id } = granted(await store.acquire(asking('beaten')))
    for (let n = 0; n < 13_000; n += 1000)
      await Promise.all(
        Array.from({ length: 1000 }, () => store.renew({ resource: 'beaten', id, ttl: 60_000 })),
      )
    expect(changes(file)).toBeLessThanOrEqual(11_000)
    await clock.advance(20)
    expect(seen[0]).toEqual({ type: 'gap' })
    expect(seen.at(-1)).toMatchObject({ type: 'change', lease: { id } })
  })

  it('the log of changes has a gap after the clock has jumped beyond the end of the watch', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const [store, peer] = [file.store({ clock }), file.store({ clock })]
    const seen: string[] = []
    await store.watch((event) => seen.push(event.type === 'gap' ? 'gap' : event.lease.resource))
    clock.jump(60_000)
    granted(await peer.acquire(asking('unseen')))
    await clock.advance(10_000)
    granted(await peer.acquire(asking('seen')))
    await clock.advance(20)
    expect(seen).toEqual(['gap', 'seen'])
  })

  it('the log of changes contains the time that is left when it is read', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const [store, peer] = [file.store({ clock }), file.store({ clock })]
    const seen: StoreEvent[] = []
    await store.watch((event) => seen.push(event))
    granted(await peer.acquire(asking('a', { ttl: 1000 })))
    await clock.advance(10)
    expect(seen).toMatchObject([{ lease: { remaining: 990 } }])
  })
})

describe('what other processes do', () => {
  it('what other processes do is not checked while nobody in this process waits, watches or holds', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const store = file.store({ clock })
    const { id } = granted(await store.acquire(asking('a', { lost: () => {} })))
    const waiter = asking('a', { wake: () => {} })
    await store.acquire(waiter)
    const watch = await store.watch(() => {})
    await clock.advance(100)
    expect(clock.pending).toBeGreaterThan(0)
    await store.release({ resource: 'a', id: waiter.id })
    await store.release({ resource: 'a', id })
    await watch[Symbol.asyncDispose]()
    await clock.advance(100)
    expect(clock.pending).toBe(0)
  })

  it('what other processes do is told to every holder whose lease was ended, among many holders', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const [store, peer] = [file.store({ clock }), file.store({ clock })]
    const lost: number[] = []
    for (let n = 0; n < 1000; n++) granted(await store.acquire(asking(`r${n}`, { lost: () => lost.push(n) })))
    for (const n of [3, 500, 999]) {
      const [[lease] = []] = await peer.read([`r${n}`])
      await peer.release({ resource: `r${n}`, token: lease?.token ?? 0 })
    }
    await clock.advance(100)
    expect(lost).toEqual([3, 500, 999])
  })

  it('what other processes do wakes waiters that lost their places together with the first waiter of their process', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const [store, peer] = [file.store({ clock }), file.store({ clock })]
    const { id } = granted(await store.acquire(asking('a')))
    const wakes: string[] = []
    const wait = (by: typeof store, name: string) =>
      by.acquire(asking('a', { id: name, wake: (inMs) => wakes.push(`${name} in ${inMs}`) }))
    await wait(peer, 'first')
    await wait(peer, 'second')
    await wait(store, 'third')
    await store.release({ resource: 'a', id })
    await clock.advance(10)
    expect(wakes).toEqual(['first in 0', 'second in 990'])
    await clock.advance(1000)
    expect(await wait(store, 'third')).toMatchObject({ granted: true })
    await clock.advance(10)
    expect(wakes.slice(2).sort()).toEqual(['first in 0', 'second in 0'])
  })

  it('what other processes do wakes a waiter once for its turn, whatever else changes', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const [store, peer] = [file.store({ clock }), file.store({ clock })]
    const { id } = granted(await store.acquire(asking('a')))
    const wakes: number[] = []
    await peer.acquire(asking('a', { wake: (inMs) => wakes.push(inMs) }))
    await store.release({ resource: 'a', id })
    for (let n = 0; n < 3; n++) {
      granted(await store.acquire(asking(`other ${n}`)))
      await clock.advance(10)
    }
    expect(wakes).toEqual([0])
  })

  it('what other processes do wakes a waiter whose reservation ends at the same time as an earlier one', async () => {
    await using file = new DatabaseFile()
    const clock = new FakeClock()
    const [store, peer] = [file.store({ clock }), file.store({ clock })]
    const { id } = granted(await store.acquire(asking('a')))
    const wakes: number[] = []
    const first = asking('a', { wake: () => {} })
    await peer.acquire(first)
    await peer.acquire(asking('a', { wake: (inMs) => wakes.push(inMs) }))
    await store.release({ resource: 'a', id })
    await clock.advance(10)
    clock.jump(-10)
    await store.release({ resource: 'a', id: first.id })
    await clock.advance(10)
    expect(wakes).toEqual([990, 0])
  })
})
