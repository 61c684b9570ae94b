import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeRegisters } from '../../../test/stores/registers/fake-registers.ts'
import { type Ask, LeaseError, type LeaseStore, type StoreEvent } from '../../core/index.ts'
import { describeStore } from '../../testing/index.ts'
import type { Register, Written } from './registers.ts'
import { rowOf } from './transitions.ts'

const TTL = 1000

function tokenOf({ register }: Written<Register>): number {
  return rowOf(register).state.token
}

function version2(before: object, type = 'expire', intent: object = { tokens: [] }): string {
  return JSON.stringify({ version: 2, before: { token: 1, endedAt: 0, leases: [], ...before }, type, intent })
}

describeStore('registers', {
  runner: { describe, it },
  supports: { queue: false },
  create: async () => {
    const registers = new FakeRegisters()
    return { registers, store: registers.store(), peer: registers.store() }
  },
  pass: ({ registers }, ms) => registers.clock.advance(ms),
  stepClock: ({ registers }, ms) => registers.clock.jump(ms),
  reopen: async ({ registers }) => registers.store(),
  interruptWatch: async ({ registers }) => {
    for (const { end } of registers.subscriptions) end()
  },
})

describe('a lease on registers', () => {
  let registers: FakeRegisters
  let store: LeaseStore
  let peer: LeaseStore

  beforeEach(() => {
    registers = new FakeRegisters()
    store = registers.store()
    peer = registers.store()
  })
  afterEach(() => Promise.all([store.close(), peer.close()]))

  const grab = async (by: LeaseStore, id: string, more: Partial<Ask> = {}) => {
    const answer = await by.acquire({ resource: 'r', id, owner: id, ttl: TTL, ...more })
    if (!answer.granted) throw new Error(`${id} was refused`)
    return answer
  }

  it('a lease on registers is not revived by a renewal that was delayed until after the expiry', async () => {
    const { lease } = await grab(store, 'a')
    registers.beforeWrite = () => registers.clock.advance(TTL)
    expect(await store.renew({ resource: 'r', id: 'a', ttl: TTL })).toEqual({ ok: false, holders: [] })
    registers.beforeWrite = () => {}
    expect(await peer.read(['r'])).toEqual([[]])
    expect(await peer.sweep({ limit: 10 })).toMatchObject([{ id: 'a', token: lease.token, state: 'expired' }])
    expect((await grab(peer, 'b')).replaced).toBeUndefined()
  })

  it('a lease on registers is granted anew, not extended, if the same id repeats its request too late', async () => {
    const { lease } = await grab(store, 'a')
    let writes = 0
    registers.beforeWrite = async () => {
      if (++writes === 1) await registers.clock.advance(TTL)
    }
    const again = await grab(store, 'a')
    expect(again.lease.token).toBeGreaterThan(lease.token)
    expect(again.replaced).toMatchObject({ token: lease.token, state: 'expired' })
  })

  it('a lease on registers is not overwritten by a caller that saw the previous lease expired, and then paused', async () => {
    await grab(store, 'a')
    await registers.clock.advance(TTL)
    registers.beforeWrite = async () => {
      registers.beforeWrite = () => {}
      await grab(peer, 'b')
    }
    const answer = await store.acquire({ resource: 'r', id: 'c', owner: 'c', ttl: TTL })
    expect(answer).toMatchObject({ granted: false, holders: [{ id: 'b' }] })
  })

  it('a lease on registers ends as expired if its release was delayed until after the expiry', async () => {
    await grab(store, 'a')
    registers.beforeWrite = () => registers.clock.advance(TTL)
    const { ended } = await store.release({ resource: 'r', id: 'a' })
    expect(ended).toMatchObject({ id: 'a', state: 'expired' })
  })

  it('a lease on registers counts as released, even if another caller wrote before the time of the release was read', async () => {
    await grab(store, 'a')
    registers.afterWrite = (written) => ({ ...written, isOvertaken: true })
    const { ended } = await store.release({ resource: 'r', id: 'a' })
    expect(ended).toMatchObject({ id: 'a', state: 'released' })
  })

  it('a lease on registers is not granted if another caller ended it before the answer', async () => {
    registers.afterWrite = async (written) => {
      registers.afterWrite = (later) => later
      await peer.acquire({ resource: 'r', id: 'b', owner: 'b', ttl: TTL, replace: tokenOf(written) })
      return { ...written, isOvertaken: true }
    }
    const answer = await store.acquire({ resource: 'r', id: 'a', owner: 'a', ttl: TTL })
    expect(answer).toMatchObject({ granted: false, holders: [{ id: 'b' }] })
  })

  it('a lease on registers is granted again with the same token if the answer was lost and the same id repeats its request', async () => {
    registers.afterWrite = () => {
      throw new LeaseError('store-unavailable', 'the answer was lost')
    }
    await expect(grab(store, 'a')).rejects.toThrow('the answer was lost')
    registers.afterWrite = (written) => written
    const [[held] = []] = await peer.read(['r'])
    const { lease } = await grab(store, 'a')
    expect(lease).toMatchObject({ id: 'a', token: held?.token })
  })

  it('a lease on registers gets a higher token, even if the database lost its last writes', async () => {
    await grab(store, 'a')
    await store.release({ resource: 'r', id: 'a' })
    const saved = new Map(registers.contents)
    const { lease: lost } = await grab(store, 'b')
    registers.contents = saved
    await registers.clock.advance(1)
    expect((await grab(store, 'c')).lease.token).toBeGreaterThan(lost.token)
  })

  it('a lease on registers shows no more than its TTL after the clock stepped back', async () => {
    await grab(store, 'a')
    registers.clock.jump(-3_600_000)
    expect(await peer.read(['r'])).toMatchObject([[{ id: 'a', remaining: TTL }]])
  })

  it('a lease on registers is not swept as expired if the clock stepped back before its end was written', async () => {
    await grab(store, 'a')
    await registers.clock.advance(TTL)
    registers.beforeWrite = () => registers.clock.jump(-3_600_000)
    expect(await store.sweep({ limit: 10 })).toEqual([])
  })

  it('a lease on registers is removed an hour after its end', async () => {
    await grab(store, 'a')
    await store.release({ resource: 'r', id: 'a' })
    await registers.clock.advance(3_599_999)
    await store.sweep({ limit: 10 })
    expect(registers.contents.has('r')).toBe(true)
    await registers.clock.advance(1)
    await store.sweep({ limit: 10 })
    expect(registers.contents.has('r')).toBe(false)
  })

  it.each([
    ['text that is not JSON', 'hello'],
    ['another program', '{"version":7}'],
    ['another version', '{"version":3,"type":"end"}'],
    ['a damaged lease', version2({ leases: [{ id: 'a' }] })],
    ['a damaged state', version2({ token: 'x' })],
    ['an unknown purpose', version2({}, 'conquer')],
    ['a purpose of JavaScript itself', version2({}, 'constructor')],
    ['a purpose that has no value', version2({}).replace(/"type":"\w+"/, '"type":{"toString":null}')],
    ['a damaged purpose', version2({}, 'renew', { id: 'a' })],
    [
      'a damaged lease of version 1',
      '{"version":1,"type":"renewal","ttl":1000,"span":1000,"lease":{"id":"a"}}',
    ],
    ['a token floor', '{"version":1,"type":"floor","token":1}'],
  ])('a lease on registers is never granted over %s', async (_, text) => {
    const events: StoreEvent[] = []
    const watch = await peer.watch((event) => events.push(event))
    registers.put({ name: 'r', text, writtenMicros: 1 })
    const damaged = {
      code: 'store-failed',
      retryable: false,
      message: expect.stringContaining('r is damaged'),
    }
    await expect(grab(store, 'a')).rejects.toMatchObject(damaged)
    await expect(store.renew({ resource: 'r', id: 'a', ttl: TTL })).rejects.toMatchObject(damaged)
    await expect(store.release({ resource: 'r', token: 1 })).rejects.toMatchObject(damaged)
    expect(await store.read(['r'])).toEqual([[]])
    expect((await store.list({ limit: 10 })).leases).toEqual([])
    expect(await store.sweep({ limit: 10 })).toEqual([])
    expect(registers.contents.get('r')?.text).toBe(text)
    expect(events).toEqual([{ type: 'gap' }])
    await watch[Symbol.asyncDispose]()
  })

  describe('that a process of version 1 wrote', () => {
    const at = (ms: number) => registers.clock.now() + ms
    const holder = { id: 'old', owner: 'old', metadata: { host: 'x' } }
    const lease = () => ({ ...holder, token: 7, acquiredAt: at(-TTL), expiresAt: at(TTL) })
    const write = (fields: object) =>
      registers.put({
        name: 'r',
        text: JSON.stringify({ version: 1, write: 'x', ...fields }),
        writtenMicros: registers.clock.now() * 1000,
      })

    it('a lease on registers that a process of version 1 wrote is held, renewed and released as any other: a grant', async () => {
      write({ type: 'grant', ...holder, ttl: TTL, floor: 5, replaced: null })
      const token = registers.clock.now() * 1000
      const held = { ...holder, token, share: null, acquiredAt: at(0), expiresAt: at(TTL) }
      expect(await store.read(['r'])).toMatchObject([[held]])
      expect(
        await store.acquire({ resource: 'r', id: 'b', owner: 'b', ttl: 1, share: Infinity }),
      ).toMatchObject({ granted: false, holders: [held] })
      expect((await store.renew({ resource: 'r', id: 'old', ttl: TTL })).ok).toBe(true)
      expect((await store.release({ resource: 'r', id: 'old' })).ended).toMatchObject({ token })
    })

    it('a lease on registers that a process of version 1 wrote is held until it expires: a renewal', async () => {
      write({ type: 'renewal', lease: lease(), span: 2 * TTL, ttl: TTL / 2 })
      await registers.clock.advance(TTL - 1)
      expect((await store.read(['r']))[0]).toMatchObject([{ token: 7, remaining: 1 }])
      await registers.clock.advance(1)
      expect((await grab(store, 'b')).replaced).toMatchObject({ token: 7, state: 'expired' })
    })

    it('a lease on registers that a process of version 1 wrote is free, and the token rises: an end', async () => {
      write({ type: 'end', lease: { ...lease(), token: registers.clock.now() * 2000 } })
      expect(await store.read(['r'])).toEqual([[]])
      expect((await grab(store, 'b')).lease.token).toBe(registers.clock.now() * 2000 + 1)
    })

    it('a lease on registers that a process of version 1 wrote cannot be read by that process once we have written it', async () => {
      write({ type: 'grant', ...holder, ttl: TTL, floor: 5, replaced: null })
      await store.renew({ resource: 'r', id: 'old', ttl: TTL })
      expect(JSON.parse(registers.contents.get('r')?.text ?? '')).toMatchObject({ version: 2 })
    })
  })

  it('a lease on registers is returned by a sweep that failed in part', async () => {
    for (const resource of ['a', 'b', 'c']) await grab(store, resource, { resource })
    await registers.clock.advance(TTL)
    registers.beforeWrite = (name) => {
      if (name === 'b') throw new LeaseError('store-unavailable', 'cut off')
    }
    expect((await store.sweep({ limit: 10 })).map(({ resource }) => resource)).toEqual(['a', 'c'])
    await expect(store.sweep({ limit: 10 })).rejects.toThrow('cut off')
  })
})
