import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { checkProperty } from '../../../test/property.ts'
import { FakeRegisters } from '../../../test/stores/registers/fake-registers.ts'
import { LeaseError } from '../../base/errors.ts'
import type { Ask, LeaseStore, StoreEvent } from '../../core/index.ts'
import type { Register } from './registers.ts'
import { idsIn, rowOf } from './transitions.ts'

const TTL = 1000
let registers: FakeRegisters
let store: LeaseStore
let peer: LeaseStore
beforeEach(() => {
  registers = new FakeRegisters()
  store = registers.store()
  peer = registers.store()
})
afterEach(() => Promise.all([store.close(), peer.close()]))

async function grab(by: LeaseStore, id: string, more: Partial<Ask> = {}) {
  const answer = await by.acquire({ resource: 'r', id, owner: id, ttl: TTL, ...more })
  if (!answer.granted) throw new Error(`${id} was refused`)
  return answer.lease
}

async function endByForce(): Promise<void> {
  const [[holder] = []] = await peer.read(['r'])
  await peer.release({ resource: 'r', token: holder?.token ?? 0 })
}

function current(): Register {
  const register = registers.contents.get('r')
  if (!register) throw new Error('there is no register')
  return register
}

function report(register: Register): void {
  for (const { changed } of registers.subscriptions) changed(register)
}

/** Until a holder has its subscription, and what it missed before was read. */
const settle = () => registers.clock.advance(300)

describe('the subscription', () => {
  it('the subscription is open from 200 ms after a grant to a caller that listens, until some seconds after its release', async () => {
    await grab(store, 'a', { resource: 'quiet' })
    await registers.clock.advance(1000)
    expect(registers.subscriptions.size).toBe(0)
    await grab(store, 'b', { lost: () => {} })
    await registers.clock.advance(199)
    expect(registers.subscriptions.size).toBe(0)
    await registers.clock.advance(1)
    expect(registers.subscriptions.size).toBe(1)
    await store.release({ resource: 'r', id: 'b' })
    await registers.clock.advance(2000)
    expect(registers.subscriptions.size).toBe(1)
    await registers.clock.advance(2000)
    expect(registers.subscriptions.size).toBe(0)
  })

  it('the subscription stays open while one of two watches', async () => {
    const [one, other] = await Promise.all([store.watch(() => {}), store.watch(() => {})])
    await one[Symbol.asyncDispose]()
    await registers.clock.advance(10_000)
    expect(registers.subscriptions.size).toBe(1)
    await other[Symbol.asyncDispose]()
    await registers.clock.advance(4000)
    expect(registers.subscriptions.size).toBe(0)
  })

  it('the subscription stays open while a lease is renewed, and is closed when it has expired', async () => {
    await grab(store, 'a', { lost: () => {} })
    for (let n = 0; n < 20; n++) {
      await registers.clock.advance(TTL / 2)
      await store.renew({ resource: 'r', id: 'a', ttl: TTL })
    }
    expect(registers.subscriptions.size).toBe(1)
    await registers.clock.advance(6000)
    expect(registers.subscriptions.size).toBe(0)
  })

  it('the subscription is not opened for a lease that was released while it was requested', async () => {
    registers.afterWrite = async (written) => {
      registers.afterWrite = (later) => later
      await store.release({ resource: 'r', id: 'a' })
      return written
    }
    await grab(store, 'a', { lost: () => {} })
    await registers.clock.advance(1000)
    expect(registers.subscriptions.size).toBe(0)
  })

  it.each([
    ['failed', () => Promise.reject(new LeaseError('store-unavailable', 'cut off'))],
    ['was refused', () => {}],
  ])('the subscription is not kept open for a request that %s', async (_, beforeWrite) => {
    await grab(peer, 'holder', { ttl: 1 })
    await registers.clock.advance(1)
    const watch = await store.watch(() => {})
    registers.beforeWrite = async () => {
      registers.beforeWrite = () => {}
      await beforeWrite()
      await grab(peer, 'first')
    }
    await expect(grab(store, 'a', { lost: () => {} })).rejects.toThrow(/cut off|refused/)
    await watch[Symbol.asyncDispose]()
    await registers.clock.advance(4000)
    expect(registers.subscriptions.size).toBe(0)
  })

  it('the subscription is opened again when it breaks, once, and reports the gap', async () => {
    const events: StoreEvent[] = []
    await store.watch((event) => events.push(event))
    const [subscription] = registers.subscriptions
    subscription?.end()
    await registers.clock.advance(50)
    subscription?.end()
    await registers.clock.advance(50)
    expect(events).toEqual([{ type: 'gap' }])
    expect(registers.subscriptions.size).toBe(1)
  })

  it('the subscription is tried again with pauses while it cannot be opened', async () => {
    const events: StoreEvent[] = []
    await store.watch((event) => events.push(event))
    const watch = vi.fn(() => Promise.reject(new LeaseError('store-unavailable', 'cut off')))
    const works = registers.watch
    registers.watch = watch
    for (const { end } of registers.subscriptions) end()
    await registers.clock.advance(1000)
    expect(watch).toHaveBeenCalledTimes(2)
    registers.watch = works
    await registers.clock.advance(1000)
    expect(events).toEqual([{ type: 'gap' }])
  })

  it('the subscription rejects a watcher if it cannot be opened', async () => {
    registers.watch = () => Promise.reject(new LeaseError('store-unavailable', 'cut off'))
    await expect(store.watch(() => {})).rejects.toThrow('cut off')
    await registers.clock.advance(10_000)
    expect(registers.clock.pending).toBe(0)
  })

  it('the subscription is given up if it is not open after five seconds', async () => {
    const stopped = vi.fn()
    registers.watch = (_, stop) =>
      new Promise((resolve) => {
        stop.addEventListener('abort', () => resolve(stopped()))
      })
    const watch = expect(store.watch(() => {})).rejects.toMatchObject({ code: 'store-unavailable' })
    await registers.clock.advance(5100)
    await watch
    expect(stopped).toHaveBeenCalledOnce()
  })

  it('the subscription reports nothing after it was closed', async () => {
    const events: StoreEvent[] = []
    const watch = await store.watch(() => {})
    const [before] = registers.subscriptions
    await watch[Symbol.asyncDispose]()
    await registers.clock.advance(4000)
    await store.watch((event) => events.push(event))
    await grab(peer, 'a')
    await settle()
    const { length } = events
    before?.changed(current())
    before?.removed('r')
    expect([length, events.length]).toEqual([1, 1])
  })
})

describe('a holder', () => {
  it('a holder is told of the end of its lease, once, even if it requested the lease twice', async () => {
    const lost = vi.fn()
    for (let n = 0; n < 2; n++) await grab(store, 'a', { lost })
    await settle()
    await endByForce()
    await settle()
    expect(lost).toHaveBeenCalledOnce()
  })

  it('a holder is told of an end before the subscription was open', async () => {
    const lost = vi.fn()
    await grab(store, 'a', { lost })
    await endByForce()
    expect(lost).not.toHaveBeenCalled()
    await settle()
    expect(lost).toHaveBeenCalledOnce()
  })

  it('a holder is told of an end after a repeated request that failed', async () => {
    const lost = vi.fn()
    await grab(store, 'a', { lost })
    await settle()
    registers.beforeWrite = () => Promise.reject(new LeaseError('store-unavailable', 'cut off'))
    await expect(grab(store, 'a', { lost })).rejects.toThrow('cut off')
    registers.beforeWrite = () => {}
    await endByForce()
    await settle()
    expect(lost).toHaveBeenCalledOnce()
  })

  it('a holder is told of an end that was reported before the answer to its request', async () => {
    await store.watch(() => {})
    const lost = vi.fn()
    registers.afterWrite = async (written) => {
      registers.afterWrite = (later) => later
      await endByForce()
      await settle()
      expect(lost).not.toHaveBeenCalled()
      return written
    }
    await grab(store, 'a', { lost })
    expect(lost).toHaveBeenCalledOnce()
  })

  it('a holder is not told of the end of an earlier lease that is reported late', async () => {
    const lost = vi.fn()
    await grab(peer, 'a')
    await peer.release({ resource: 'r', id: 'a' })
    const before = current()
    await grab(store, 'b', { lost })
    await settle()
    report(before)
    expect(lost).not.toHaveBeenCalled()
  })

  it.each([
    ['was removed by hand', () => registers.contents.delete('r')],
    [
      'was overwritten by another program',
      () => registers.contents.set('r', { ...current(), text: 'hello' }),
    ],
  ])('a holder is told if its register %s', async (_, destroy) => {
    const lost = vi.fn()
    const events: StoreEvent[] = []
    await grab(store, 'a', { lost })
    await store.watch((event) => events.push(event))
    await settle()
    destroy()
    const register = registers.contents.get('r')
    for (const { changed, removed } of registers.subscriptions) register ? changed(register) : removed('r')
    await settle()
    expect(lost).toHaveBeenCalledOnce()
    expect(events).toEqual([{ type: 'gap' }])
  })

  /** A history of the register in any order: parts of it left out, late, twice, before or after the answer. */
  it('a holder loses its lease exactly if a later state of the register is reported in which it is not the holder', async () => {
    const change = fc.constantFrom('renew a', 'end', 'grant b', 'renew b', 'grant c', 'pass')
    const part = fc.record({
      changes: fc.array(change, { maxLength: 5 }),
      reports: fc.array(fc.nat(), { maxLength: 4 }),
    })
    await checkProperty(
      fc.asyncProperty(part, part, part, async (before, during, after) => {
        registers = new FakeRegisters()
        store = registers.store()
        peer = registers.store()
        await store.watch(() => {})
        const history: Register[] = []
        registers.put = (register) => {
          registers.contents.set('r', register)
          history.push(register)
        }
        let granted = Infinity
        let expectLost = false
        const run = async ({ changes, reports }: { changes: string[]; reports: number[] }) => {
          for (const next of changes) await makeChange(next)
          for (const number of reports) {
            const index = history.length > 0 ? number % history.length : 0
            const register = history[index]
            if (!register) continue
            report(register)
            if (index > granted && !idsIn(rowOf(register).state).includes('a')) expectLost = true
          }
        }
        await run(before)
        await peer.release({ resource: 'r', token: (await peer.read(['r']))[0]?.[0]?.token ?? 0 })
        registers.afterWrite = async (written) => {
          registers.afterWrite = (later) => later
          granted = history.length - 1
          await run(during)
          return written
        }
        const lost = vi.fn()
        await store.acquire({ resource: 'r', id: 'a', owner: 'a', ttl: TTL, lost })
        await run(after)
        expect(lost).toHaveBeenCalledTimes(expectLost ? 1 : 0)
        await Promise.all([store.close(), peer.close()])
      }),
      { numRuns: 300 },
    )
  })

  async function makeChange(change: string): Promise<void> {
    const [action, id = ''] = change.split(' ')
    if (action === 'pass') await registers.clock.advance(TTL / 2)
    else if (action === 'end') await endByForce()
    else if (action === 'renew') await peer.renew({ resource: 'r', id, ttl: TTL })
    else {
      const [[holder] = []] = await peer.read(['r'])
      const replace = holder ? { replace: holder.token } : {}
      await peer.acquire({ resource: 'r', id, owner: id, ttl: TTL, ...replace })
    }
  }
})
