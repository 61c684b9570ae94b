import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FakeRegisters } from '../../../test/stores/registers/fake-registers.ts'
import { type Ask, LeaseError, type LeaseStore, type StoreEvent } from '../../core/index.ts'
import { registerStore } from './store.ts'

describe('the feed of changes', () => {
  let registers: FakeRegisters
  let store: LeaseStore
  beforeEach(() => {
    vi.useFakeTimers()
    registers = new FakeRegisters()
    store = registerStore('fake', registers)
  })
  afterEach(async () => {
    await store.close()
    vi.useRealTimers()
  })

  const grab = (id: string, more: Partial<Ask> = {}) =>
    store.acquire({ resource: 'r', id, owner: id, ttl: 1000, ...more })

  it('is open while a lease is held by somebody who listens, and a second longer', async () => {
    await grab('a', { resource: 'quiet' })
    expect(registers.feeds.size).toBe(0)
    await grab('b', { lost: () => {} })
    expect(registers.feeds.size).toBe(1)
    await store.release({ resource: 'r', id: 'b' })
    vi.advanceTimersByTime(999)
    expect(registers.feeds.size).toBe(1)
    vi.advanceTimersByTime(1)
    expect(registers.feeds.size).toBe(0)
  })

  it('stays open while one of two watches', async () => {
    const [one, other] = await Promise.all([store.watch(() => {}), store.watch(() => {})])
    await one[Symbol.asyncDispose]()
    vi.advanceTimersByTime(5000)
    expect(registers.feeds.size).toBe(1)
    await other[Symbol.asyncDispose]()
    vi.advanceTimersByTime(1000)
    expect(registers.feeds.size).toBe(0)
  })

  it('is not opened for a lease that was given up while it was asked for', async () => {
    registers.afterWrite = async (written) => {
      registers.afterWrite = (later) => later
      await store.release({ resource: 'r', id: 'a' })
      return written
    }
    await grab('a', { lost: () => {} })
    expect(registers.feeds.size).toBe(0)
  })

  it('is opened anew when it breaks, once, and tells of the gap', async () => {
    const events: StoreEvent[] = []
    await store.watch((event) => events.push(event))
    const [feed] = registers.feeds
    feed?.ended()
    await vi.advanceTimersByTimeAsync(0)
    feed?.ended()
    await vi.advanceTimersByTimeAsync(0)
    expect(events).toEqual([{ type: 'gap' }])
    expect(registers.feeds.size).toBe(1)
  })

  it('is tried again with pauses while it cannot be opened', async () => {
    const events: StoreEvent[] = []
    await store.watch((event) => events.push(event))
    const watch = vi.fn(() => Promise.reject(new LeaseError('store-unavailable', 'cut off')))
    const works = registers.watch
    registers.watch = watch
    for (const feed of registers.feeds) feed.ended()
    await vi.advanceTimersByTimeAsync(1000)
    expect(watch).toHaveBeenCalledTimes(3)
    registers.watch = works
    await vi.advanceTimersByTimeAsync(1000)
    expect(events).toEqual([{ type: 'gap' }])
  })

  it('that cannot be opened for a watcher rejects', async () => {
    registers.watch = () => Promise.reject(new LeaseError('store-unavailable', 'cut off'))
    await expect(store.watch(() => {})).rejects.toThrow('cut off')
    await vi.advanceTimersByTimeAsync(10_000)
    expect(vi.getTimerCount()).toBe(0)
  })
})
