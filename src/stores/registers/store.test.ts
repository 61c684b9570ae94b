import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../../../test/eventually.ts'
import { FakeRegisters } from '../../../test/stores/registers/fake-registers.ts'
import { type Ask, LeaseError, type LeaseStore, type StoreEvent } from '../../core/index.ts'
import { describeStore } from '../../testing/index.ts'
import type { Entry, Written } from './port.ts'
import { rowOf } from './row.ts'
import { registerStore } from './store.ts'

const TTL = 1000

function tokenOf({ entry }: Written<Entry>): number {
  return rowOf(entry).token
}

describeStore('registers', {
  runner: { describe, it },
  supports: { queue: false },
  create: async () => {
    const registers = new FakeRegisters()
    return { registers, store: registerStore('fake', registers), peer: registerStore('fake', registers) }
  },
  pass: ({ registers }, ms) => registers.clock.advance(ms),
  stepClock: ({ registers }, ms) => registers.clock.jump(ms),
  reopen: async ({ registers }) => registerStore('fake', registers),
  interruptWatch: async ({ registers }) => {
    for (const feed of registers.feeds) feed.ended()
    await eventually(() => expect(registers.feeds.size).toBe(1))
  },
})

describe('a lease on registers', () => {
  let registers: FakeRegisters
  let store: LeaseStore
  let peer: LeaseStore

  beforeEach(() => {
    registers = new FakeRegisters()
    store = registerStore('fake', registers)
    peer = registerStore('fake', registers)
  })
  afterEach(() => Promise.all([store.close(), peer.close()]))

  const grab = async (by: LeaseStore, id: string, more: Partial<Ask> = {}) => {
    const answer = await by.acquire({ resource: 'r', id, owner: id, ttl: TTL, ...more })
    if (!answer.granted) throw new Error(`${id} was refused`)
    return answer
  }

  it('is not revived by a renewal that was held up until after the expiry', async () => {
    const { lease } = await grab(store, 'a')
    registers.beforeWrite = () => registers.clock.advance(TTL)
    expect(await store.renew({ resource: 'r', id: 'a', ttl: TTL })).toEqual({ ok: false, holder: null })
    registers.beforeWrite = () => {}
    expect(await peer.read(['r'])).toEqual([null])
    expect(await peer.sweep({ limit: 10 })).toMatchObject([{ id: 'a', token: lease.token, state: 'expired' }])
    expect((await grab(peer, 'b')).replaced).toBeUndefined()
  })

  it('is given anew, not extended, when the same id asks too late', async () => {
    const { lease } = await grab(store, 'a')
    let writes = 0
    registers.beforeWrite = async () => {
      if (++writes === 1) await registers.clock.advance(TTL)
    }
    const again = await grab(store, 'a')
    expect(again.lease.token).toBeGreaterThan(lease.token)
    expect(again.replaced).toMatchObject({ token: lease.token, state: 'expired' })
  })

  it('is not overwritten by one who saw the one before it expired, and then paused', async () => {
    await grab(store, 'a')
    await registers.clock.advance(TTL)
    registers.beforeWrite = async () => {
      registers.beforeWrite = () => {}
      await grab(peer, 'b')
    }
    const answer = await store.acquire({ resource: 'r', id: 'c', owner: 'c', ttl: TTL })
    expect(answer).toMatchObject({ granted: false, holder: { id: 'b' } })
  })

  it('ends as expired when its release was held up until after the expiry', async () => {
    await grab(store, 'a')
    registers.beforeWrite = () => registers.clock.advance(TTL)
    const { ended } = await store.release({ resource: 'r', id: 'a' })
    expect(ended).toMatchObject({ id: 'a', state: 'expired' })
  })

  it('counts as released though another took the resource before that could be seen', async () => {
    await grab(store, 'a')
    registers.afterWrite = (written) => ({ ...written, overtaken: true })
    const { ended } = await store.release({ resource: 'r', id: 'a' })
    expect(ended).toMatchObject({ id: 'a', state: 'released' })
  })

  it('is not granted when another ended it before the answer', async () => {
    registers.afterWrite = async (written) => {
      registers.afterWrite = (later) => later
      await peer.acquire({ resource: 'r', id: 'b', owner: 'b', ttl: TTL, replace: tokenOf(written) })
      return { ...written, overtaken: true }
    }
    const answer = await store.acquire({ resource: 'r', id: 'a', owner: 'a', ttl: TTL })
    expect(answer).toMatchObject({ granted: false, holder: { id: 'b' } })
  })

  it('is the same lease when the answer was lost and the same id asks again', async () => {
    registers.afterWrite = () => {
      throw new LeaseError('store-unavailable', 'the answer was lost')
    }
    await expect(grab(store, 'a')).rejects.toThrow('the answer was lost')
    registers.afterWrite = (written) => written
    const [held] = await peer.read(['r'])
    const { lease } = await grab(store, 'a')
    expect(lease).toMatchObject({ id: 'a', token: held?.token })
  })

  it('gets a higher token though the database lost its last writes', async () => {
    await grab(store, 'a')
    await store.release({ resource: 'r', id: 'a' })
    const saved = { entries: new Map(registers.entries), order: registers.order }
    const { lease: lost } = await grab(store, 'b')
    Object.assign(registers, saved)
    await registers.clock.advance(1)
    expect((await grab(store, 'c')).lease.token).toBeGreaterThan(lost.token)
  })

  it('shows no more than its TTL when the clock stepped back', async () => {
    await grab(store, 'a')
    registers.clock.jump(-3_600_000)
    expect(await peer.read(['r'])).toMatchObject([{ id: 'a', remaining: TTL }])
  })

  it('is not swept as expired when the clock stepped back before its end was written', async () => {
    await grab(store, 'a')
    await registers.clock.advance(TTL)
    registers.beforeWrite = () => registers.clock.jump(-3_600_000)
    expect(await store.sweep({ limit: 10 })).toEqual([])
  })

  it('is forgotten an hour after its end', async () => {
    await grab(store, 'a')
    await store.release({ resource: 'r', id: 'a' })
    await registers.clock.advance(3_599_999)
    await store.sweep({ limit: 10 })
    expect(registers.entries.has('r')).toBe(true)
    await registers.clock.advance(1)
    await store.sweep({ limit: 10 })
    expect(registers.entries.has('r')).toBe(false)
  })

  it('is told of its end even before the answer to its ask', async () => {
    const watch = await store.watch(() => {})
    const lost = vi.fn()
    registers.afterWrite = async (written) => {
      registers.afterWrite = (later) => later
      const [holder] = await peer.read(['r'])
      await peer.release({ resource: 'r', token: holder?.token ?? 0 })
      await registers.clock.advance(1)
      expect(lost).not.toHaveBeenCalled()
      return written
    }
    await grab(store, 'a', { lost })
    expect(lost).toHaveBeenCalledOnce()
    await watch[Symbol.asyncDispose]()
  })

  it('is told of its end though that came before the feed was open', async () => {
    const opening = Promise.withResolvers<void>()
    const { watch } = registers
    registers.watch = async (feed, stop) => {
      await opening.promise
      return watch.call(registers, feed, stop)
    }
    const lost = vi.fn()
    const { lease } = await grab(store, 'a', { lost })
    await peer.release({ resource: 'r', token: lease.token })
    opening.resolve()
    await eventually(() => expect(lost).toHaveBeenCalledOnce())
  })

  it('is told of its end once, though it was asked for twice', async () => {
    const lost = vi.fn()
    const { lease } = await grab(store, 'a', { lost })
    await grab(store, 'a', { lost })
    await peer.release({ resource: 'r', token: lease.token })
    await eventually(() => expect(lost).toHaveBeenCalled())
    expect(lost).toHaveBeenCalledOnce()
  })

  it('is not lost by what is told late of the one before it', async () => {
    const lost = vi.fn()
    await grab(peer, 'a')
    await peer.release({ resource: 'r', id: 'a' })
    const before = registers.entries.get('r')
    await grab(store, 'b', { lost })
    await eventually(() => expect(registers.feeds.size).toBe(1))
    for (const feed of registers.feeds) if (before) feed.changed(before)
    expect(lost).not.toHaveBeenCalled()
  })

  it('is lost when its record was removed by hand', async () => {
    const lost = vi.fn()
    const events: StoreEvent[] = []
    await grab(store, 'a', { lost })
    const watch = await store.watch((event) => events.push(event))
    registers.entries.delete('r')
    for (const feed of registers.feeds) feed.gone('r')
    await eventually(() => expect(lost).toHaveBeenCalledOnce())
    expect(events).toEqual([{ type: 'gap' }])
    await watch[Symbol.asyncDispose]()
  })

  it.each([
    ['no JSON', 'hello'],
    ['another program', '{"version":7}'],
    ['another version', '{"version":2,"type":"end"}'],
    ['a damaged lease', '{"version":1,"type":"renewal","ttl":1000,"span":1000,"lease":{"id":"a"}}'],
  ])('is never granted over a record of %s', async (_, text) => {
    const events: StoreEvent[] = []
    const watch = await peer.watch((event) => events.push(event))
    registers.put({ name: 'r', text, micros: 1, order: ++registers.order })
    const damaged = {
      code: 'store-failed',
      retryable: false,
      message: expect.stringContaining('r is damaged'),
    }
    await expect(grab(store, 'a')).rejects.toMatchObject(damaged)
    await expect(store.renew({ resource: 'r', id: 'a', ttl: TTL })).rejects.toMatchObject(damaged)
    await expect(store.release({ resource: 'r', token: 1 })).rejects.toMatchObject(damaged)
    expect(await store.read(['r'])).toEqual([null])
    expect((await store.list({ limit: 10 })).leases).toEqual([])
    expect(await store.sweep({ limit: 10 })).toEqual([])
    expect(registers.entries.get('r')?.text).toBe(text)
    expect(events).toEqual([{ type: 'gap' }])
    await watch[Symbol.asyncDispose]()
  })

  it('is handed on by a sweep that failed in part', async () => {
    for (const resource of ['a', 'b', 'c']) await grab(store, resource, { resource })
    await registers.clock.advance(TTL)
    registers.beforeWrite = (name) => {
      if (name === 'b') throw new LeaseError('store-unavailable', 'cut off')
    }
    expect((await store.sweep({ limit: 10 })).map(({ resource }) => resource)).toEqual(['a', 'c'])
    await expect(store.sweep({ limit: 10 })).rejects.toThrow('cut off')
  })
})
