import { describe, expect, it } from 'vitest'
import type { FakeClock } from '../../src/testing/index.ts'
import { setUp } from './set-up.ts'

/** Until nothing happens any more without time passing. */
async function idle(clock: FakeClock): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await clock.advance(0)
}

/** For stores without a queue of their own, the manager keeps one. */
describe('the queue of a manager', () => {
  it('the queue of a manager lets all readers in as soon as the writer releases', async () => {
    const { clock, leases, another, asks } = setUp({ queue: false })
    const writer = await another().acquire('r')
    const readers = Array.from({ length: 10 }, () => leases.acquire('r', { share: Infinity }))
    await clock.advance(1000)
    const before = asks()
    await writer.release()
    await idle(clock)
    expect((await leases.holders('r')).length).toBe(10)
    await Promise.all(readers)
    expect(asks() - before).toBe(10)
  })

  it('the queue of a manager lets as many in as fit, and the next ones as others end', async () => {
    const { clock, leases, another } = setUp({ queue: false })
    const writer = await another().acquire('r')
    const order: number[] = []
    const waiting = Array.from({ length: 5 }, async (_, n) => {
      const lease = await leases.acquire('r', { share: 2, wait: Infinity })
      order.push(n)
      return lease
    })
    await clock.advance(100)
    await writer.release()
    await idle(clock)
    expect(order).toEqual([0, 1])
    await (await waiting[1])?.release()
    await idle(clock)
    expect(order).toEqual([0, 1, 2])
    await (await waiting[0])?.release()
    await (await waiting[2])?.release()
    await idle(clock)
    expect(order).toEqual([0, 1, 2, 3, 4])
  })

  it('the queue of a manager lets no later reader overtake a writer that waits', async () => {
    const { clock, leases } = setUp({ queue: false })
    const order: string[] = []
    const wait = (name: string, share?: number) =>
      leases.acquire('r', { share, wait: Infinity }).then((lease) => {
        order.push(name)
        return lease
      })
    const first = await leases.acquire('r', { share: Infinity })
    const writer = wait('writer')
    await clock.advance(10)
    const readers = [wait('reader 1', Infinity), wait('reader 2', Infinity)]
    expect(await leases.tryAcquire('r', { share: Infinity })).toBeNull()
    await clock.advance(10)
    expect(order).toEqual([])
    await first.release()
    await idle(clock)
    expect(order).toEqual(['writer'])
    await (await writer).release()
    await idle(clock)
    expect(order).toEqual(['writer', 'reader 1', 'reader 2'])
    await Promise.all(readers)
  })

  it('the queue of a manager lets readers in when the writer before them gives up', async () => {
    const { clock, leases } = setUp({ queue: false })
    await leases.acquire('r', { share: Infinity, heartbeat: false, ttl: 60_000 })
    const writer = leases.acquire('r', { wait: 500 }).catch(({ code }) => code)
    const reader = leases.acquire('r', { share: Infinity, wait: Infinity })
    await clock.advance(499)
    expect(await Promise.race([reader, 'waits'])).toBe('waits')
    await clock.advance(1)
    await idle(clock)
    expect(await writer).toBe('lease-held')
    expect((await reader).held).toBe(true)
  })

  it('the queue of a manager refuses nobody because of a request whose answer is still to come', async () => {
    const { clock, leases } = setUp({ queue: false })
    const both = Promise.all([
      leases.acquire('r', { share: 2 }),
      leases.tryAcquire('r', { share: 2 }),
      leases.tryAcquire('r', { share: 2 }),
    ])
    await idle(clock)
    expect((await both).map((lease) => lease !== null)).toEqual([true, true, false])
  })
})
