import { describe, expect, it, vi } from 'vitest'
import { BlockedClock } from '../../../test/blocked-clock.ts'
import { Stop } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { asLeaseError, LeaseError } from '../../base/errors.ts'
import { CALL_TIMEOUT_MS } from '../../base/options.ts'
import { FakeClock } from '../../testing/index.ts'
import { Calls, type Running } from './calls.ts'

function setUp() {
  const clock = new FakeClock()
  return { clock, calls: new Calls({ backend: 'Toy', explain: asLeaseError, clock }) }
}
const never = () => new Promise<never>(() => {})
const codeOf = <T>(work: Promise<T>) => work.catch((error: LeaseError) => error.code)

describe('a call', () => {
  it('ends with its answer, or with its error explained', async () => {
    const { calls } = setUp()
    expect(await calls.run(async () => 5)).toBe(5)
    const failing = calls.run(() => Promise.reject(new Error('oops')), undefined, 'r')
    await expect(failing).rejects.toMatchObject({ code: 'store-failed', message: 'oops', resource: 'r' })
    const throwing = calls.run(() => {
      throw new Error('at once')
    })
    await expect(throwing).rejects.toBeInstanceOf(LeaseError)
  })

  it('ends at once if its work does', async () => {
    const { clock, calls } = setUp()
    expect(await calls.run(() => 5)).toBe(5)
    expect(clock.pending).toBe(0)
  })

  it('a call has no limit if it looks at every resource', async () => {
    const { clock, calls } = setUp()
    const { promise, resolve } = Promise.withResolvers<number>()
    const controller = new AbortController()
    const scans = [calls.scan(() => promise), calls.scan(never, { signal: controller.signal })]
    await clock.advance(10 * CALL_TIMEOUT_MS)
    resolve(5)
    controller.abort()
    expect(await Promise.all(scans.map(codeOf))).toEqual([5, 'aborted'])
  })

  it('a call ends after the limit, and its work can see that', async () => {
    const { clock, calls } = setUp()
    let stop: Stop | undefined
    const call = calls.run((given) => {
      stop = given
      return never()
    })
    const code = codeOf(call)
    await clock.advance(CALL_TIMEOUT_MS - 100)
    expect(stop?.reason).toBeUndefined()
    await clock.advance(200)
    expect(await code).toBe('store-unavailable')
    expect(() => stop?.throwIfAborted()).toThrow('Toy: no answer within 5000 ms')
    expect(clock.pending).toBe(0)
  })

  it('a call that waits in this process has its limit from when it leaves', async () => {
    const { clock, calls } = setUp()
    const queued: boolean[] = []
    let running: Running | undefined
    const work = (given: Running) => {
      running = given
      given.hold()
      return never()
    }
    const code = codeOf(calls.run(work, { queued: (isQueued) => queued.push(isQueued) }))
    await clock.advance(10 * CALL_TIMEOUT_MS)
    running?.leave(clock.monotonic())
    await clock.advance(CALL_TIMEOUT_MS - 100)
    expect(running?.reason).toBeUndefined()
    await clock.advance(200)
    expect(await code).toBe('store-unavailable')
    expect(queued).toEqual([true, false])
  })

  it('a call is given the time for which the process was blocked', async () => {
    const clock = new BlockedClock()
    const calls = new Calls({ backend: 'Toy', explain: asLeaseError, clock })
    const answer = new Promise((resolve) => clock.setTimer(() => resolve('answer'), CALL_TIMEOUT_MS - 100))
    const [late, silent] = [calls.run(() => answer), codeOf(calls.run(never))]
    clock.blockedMs = 2 * CALL_TIMEOUT_MS
    await clock.advance(CALL_TIMEOUT_MS + 100)
    expect([await late, await silent]).toEqual(['answer', 'store-unavailable'])
  })

  it('ends at once when its signal aborts, and soon when a manager stops', async () => {
    const { clock, calls } = setUp()
    const controller = new AbortController()
    const call = codeOf(calls.run(never, { signal: controller.signal }))
    controller.abort()
    expect(await call).toBe('aborted')
    const stop = new Stop()
    const managed = codeOf(calls.run(never, stop))
    stop.abort(new LeaseError('closed', 'closed'))
    await clock.advance(50)
    expect(await managed).toBe('aborted')
  })

  it('a call keeps the process alive, though its sockets need not do that', async () => {
    const { clock, calls } = setUp()
    const setTimer = vi.spyOn(clock as Clock, 'setTimer')
    void codeOf(calls.run(never))
    expect(setTimer).toHaveBeenCalledOnce()
    expect(setTimer.mock.calls[0]?.[2]).toBeFalsy()
  })

  it('a call is not begun when its signal has aborted, or its manager has stopped', async () => {
    const { calls } = setUp()
    let begun = false
    const begin = async () => {
      begun = true
    }
    expect(await codeOf(calls.run(begin, { signal: AbortSignal.abort() }))).toBe('aborted')
    const stop = new Stop()
    stop.abort(new LeaseError('closed', 'closed'))
    expect(await codeOf(calls.run(begin, stop))).toBe('closed')
    expect(begun).toBe(false)
  })

  it('a call shows its work at once that a manager has stopped, before the caller is rejected', async () => {
    const { calls } = setUp()
    const stop = new Stop()
    const { promise: stopped, resolve } = Promise.withResolvers<void>()
    const call = calls.run(async (given) => {
      await stopped
      given.throwIfAborted()
    }, stop)
    stop.abort(new LeaseError('aborted', 'enough'))
    resolve()
    await expect(call).rejects.toThrow('enough')
  })
})

describe('close', () => {
  it('close rejects all callers at once, and waits for what is under way', async () => {
    const { calls } = setUp()
    const { promise, resolve } = Promise.withResolvers<void>()
    const call = codeOf(calls.run(() => promise))
    let closed = false
    const closing = calls.close().then(() => {
      closed = true
    })
    expect(await call).toBe('closed')
    expect(closed).toBe(false)
    resolve()
    await closing
    expect(await codeOf(calls.run(async () => 5))).toBe('closed')
  })

  it('close says what was closed', async () => {
    const close = async (kind?: string) => {
      const calls = new Calls({ backend: 'Toy', explain: asLeaseError, ...(kind && { kind }) })
      await calls.close()
      await calls.run(async () => 5)
    }
    await expect(close()).rejects.toThrow('this Toy store was closed')
    await expect(close('bus')).rejects.toThrow('this Toy bus was closed')
  })

  it('close waits also for the request of a caller that has gone before', async () => {
    const { calls } = setUp()
    const { promise, resolve } = Promise.withResolvers<void>()
    const caller = new AbortController()
    const call = codeOf(calls.run(() => promise, { signal: caller.signal }))
    caller.abort()
    expect(await call).toBe('aborted')
    let closed = false
    const closing = calls.close().then(() => {
      closed = true
    })
    await Promise.resolve()
    expect(closed).toBe(false)
    resolve()
    await closing
  })

  it('close rejects exactly the calls that are under way, in whatever order others have ended', async () => {
    const { calls } = setUp()
    const works = Array.from({ length: 5 }, () => Promise.withResolvers<number>())
    const outcomes = works.map(({ promise }) => codeOf(calls.run(() => promise)))
    for (const index of [1, 4, 0]) {
      works[index]?.resolve(index)
      expect(await outcomes[index]).toBe(index)
    }
    const closing = calls.close()
    expect(await Promise.all(outcomes)).toEqual([0, 1, 'closed', 'closed', 4])
    for (const { resolve } of works) resolve(0)
    await closing
  })

  it('close waits no longer than a second', async () => {
    const { clock, calls } = setUp()
    void codeOf(calls.run(never))
    const closing = calls.close()
    await clock.advance(1000)
    await closing
  })
})
