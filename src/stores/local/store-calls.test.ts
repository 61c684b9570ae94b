import { describe, expect, it, vi } from 'vitest'
import { Stop } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { asLeaseError, LeaseError } from '../../base/errors.ts'
import { CALL_TIMEOUT_MS } from '../../base/options.ts'
import type { Answer, Ask, Grant, Refusal, Released } from '../../core/index.ts'
import { FakeClock, settled } from '../../testing/fake-clock.ts'
import { StoreCalls } from './store-calls.ts'

const GRANT = { granted: true, lease: { resource: 'r' } } as Grant
const REFUSED: Refusal = { granted: false, holders: [], place: null, retryIn: null }
const QUEUED_AT_STORE: Refusal = { ...REFUSED, place: 0 }
const RELEASED: Released = { ended: null, holders: [] }
const ENDED = { ended: GRANT.lease, holders: [] }

function setUp(maxInFlight?: number) {
  const clock = new FakeClock()
  const called = new Set<string>()
  const isCalled = (id: string) => called.delete(id)
  const releasing = vi.fn(async (): Promise<Released> => RELEASED)
  const calls = new StoreCalls({
    backend: 'Toy',
    explain: asLeaseError,
    clock,
    maxInFlight,
    isCalled,
    release: () => releasing,
  })
  /** The requests that were sent, in order. */
  const sent: { id: string; answer(answer: Answer): Promise<void>; fail(): Promise<void> }[] = []
  const acquire = (id: string, call?: { signal?: AbortSignal }, queued?: Ask['queued']) => {
    const ask: Ask = { resource: 'r', id, owner: 'o', ttl: 1000, ...(queued && { queued }) }
    const work = () => {
      const { promise, resolve, reject } = Promise.withResolvers<Answer>()
      const answer = (answer: Answer) => {
        resolve(answer)
        return settled()
      }
      const fail = () => {
        reject(new Error('broken'))
        return settled()
      }
      sent.push({ id, answer, fail })
      return promise
    }
    return calls.acquire(ask, work, call).then(
      (answer) => answer.granted,
      (error: LeaseError) => error.code,
    )
  }
  const release = (id: string) => calls.release({ resource: 'r', id }, releasing)
  const ids = () => sent.map(({ id }) => id)
  return { clock, called, calls, sent, ids, acquire, release, releasing }
}

describe('acquire requests over the limit', () => {
  it('acquire requests over the limit are sent in order, each when an earlier one has ended', async () => {
    const { calls, sent, ids, acquire } = setUp(2)
    const outcomes = ['a', 'b', 'c', 'd'].map((id) => acquire(id))
    expect(ids()).toEqual(['a', 'b'])
    expect(calls.load).toMatchObject({ inFlight: 2, queued: 2 })
    await sent[1]?.answer(GRANT)
    expect(ids()).toEqual(['a', 'b', 'c'])
    await sent[0]?.fail()
    expect(ids()).toEqual(['a', 'b', 'c', 'd'])
    await sent[2]?.answer(REFUSED)
    await sent[3]?.answer(GRANT)
    expect(await Promise.all(outcomes)).toEqual(['store-failed', true, false, true])
    expect(calls.load).toMatchObject({ inFlight: 0, queued: 0 })
  })

  it('acquire requests over the limit do not wait if it is the turn of their waiter, which has a second to ask', async () => {
    const { called, sent, ids, acquire } = setUp(1)
    for (const id of ['a', 'b']) void acquire(id)
    called.add('c')
    const outcome = acquire('c')
    expect(ids()).toEqual(['a', 'c'])
    await sent[1]?.answer(GRANT)
    expect(await outcome).toBe(true)
    void acquire('c')
    expect(ids()).toEqual(['a', 'c'])
  })

  it('say when they are queued and when they are sent', async () => {
    const { sent, acquire } = setUp(1)
    const said: string[] = []
    const say = (id: string) => (isQueued: boolean) => void said.push(`${id} ${isQueued}`)
    void acquire('a', {}, say('a'))
    void acquire('b', {}, say('b'))
    expect(said).toEqual(['b true'])
    await sent[0]?.answer(REFUSED)
    expect(said).toEqual(['b true', 'b false'])
  })

  it('acquire requests over the limit do not delay releases and other calls', async () => {
    const { calls, acquire, release } = setUp(1)
    void acquire('a')
    void acquire('b')
    expect(await release('x')).toBe(RELEASED)
    expect(await calls.run(async () => 'renewed')).toBe('renewed')
  })

  it('acquire requests over the limit have their time limit from when they are sent', async () => {
    const { clock, sent, acquire } = setUp(1)
    void acquire('first')
    const second = acquire('second')
    await clock.advance(CALL_TIMEOUT_MS - 100)
    await sent[0]?.answer(REFUSED)
    await clock.advance(CALL_TIMEOUT_MS - 100)
    await sent[1]?.answer(GRANT)
    expect(await second).toBe(true)
  })

  it('acquire requests over the limit are not sent if the caller has gone, or if their id was released', async () => {
    const { clock, sent, ids, acquire, release } = setUp(1)
    void acquire('a')
    const caller = new AbortController()
    const aborted = acquire('b', caller)
    const stop = new Stop()
    const stopped = acquire('c', stop)
    const released = acquire('d')
    const last = acquire('e')
    caller.abort()
    expect(await aborted).toBe('aborted')
    stop.abort(new LeaseError('closed', 'the manager was closed'))
    await release('d')
    expect(await released).toBe('aborted')
    await sent[0]?.answer(REFUSED)
    expect(ids()).toEqual(['a', 'e'])
    await clock.advance(50)
    expect(await stopped).toBe('closed')
    await sent[1]?.answer(GRANT)
    expect(await last).toBe(true)
  })

  it('acquire requests over the limit fail if the store answers nothing for as long as a call may take', async () => {
    const { clock, calls, sent, acquire } = setUp(1)
    void acquire('a')
    const outcomes = [acquire('b'), acquire('c')]
    await clock.advance(CALL_TIMEOUT_MS - 100)
    await sent[0]?.answer(REFUSED)
    // One answer is a sign of life, also for those that are still queued.
    await clock.advance(CALL_TIMEOUT_MS - 100)
    expect(calls.load.queued).toBe(1)
    await clock.advance(2000)
    expect(await Promise.all(outcomes)).toEqual(['store-unavailable', 'store-unavailable'])
    expect(calls.load.queued).toBe(0)
  })

  it('acquire requests over the limit are sent in the end if the client has lost those in flight', async () => {
    const { clock, ids, acquire } = setUp(1)
    void acquire('lost')
    await clock.advance(28_000)
    void acquire('next')
    await clock.advance(3000)
    expect(ids()).toEqual(['lost', 'next'])
  })

  it('end when the store is closed', async () => {
    const { clock, calls, acquire } = setUp(1)
    const outcomes = [acquire('a'), acquire('b')]
    const closing = calls.close()
    expect(await Promise.all(outcomes)).toEqual(['closed', 'closed'])
    await clock.advance(CALL_TIMEOUT_MS)
    await closing
    expect(clock.pending).toBe(0)
  })

  it('acquire requests over the limit may be many', async () => {
    const { sent, acquire } = setUp(10)
    const outcomes = Array.from({ length: 2000 }, (_, n) => acquire(`id ${n}`))
    for (let n = 0; n < 2000; n++) await sent[n]?.answer(GRANT)
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set([true]))
  })
})

describe('a repeated acquire request', () => {
  it('a repeated acquire request is not sent while the first copy is in flight, and does not delay others', async () => {
    const { clock, sent, ids, acquire } = setUp(2)
    const first = acquire('a')
    await clock.advance(CALL_TIMEOUT_MS + 100)
    expect(await first).toBe('store-unavailable')
    const again = acquire('a')
    void acquire('b')
    expect(ids()).toEqual(['a'])
    await clock.advance(1000)
    expect(ids()).toEqual(['a', 'b'])
    await sent[0]?.answer(GRANT)
    expect(ids()).toEqual(['a', 'b', 'a'])
    await sent[2]?.answer(GRANT)
    expect(await again).toBe(true)
  })
})

describe('a release that overtakes the acquire request', () => {
  it.each([
    ['a lease', GRANT],
    ['a place in the queue', QUEUED_AT_STORE],
  ])(
    'a release that overtakes the acquire request is repeated if the request gets %s, and ends after that',
    async (_, answer) => {
      const { sent, acquire, release, releasing } = setUp()
      const caller = new AbortController()
      const aborted = acquire('a', caller)
      caller.abort()
      expect(await aborted).toBe('aborted')
      const repeated = Promise.withResolvers<Released>()
      releasing.mockResolvedValueOnce(RELEASED).mockReturnValueOnce(repeated.promise)
      const ended = vi.fn()
      const released = release('a').then(ended)
      await sent[0]?.answer(answer)
      expect(releasing).toHaveBeenCalledTimes(2)
      expect(ended).not.toHaveBeenCalled()
      repeated.resolve(ENDED)
      await released
      expect(ended).toHaveBeenCalledWith(ENDED)
    },
  )

  it('a release that overtakes the acquire request is repeated if the request fails, because it may have been carried out', async () => {
    const { sent, acquire, release, releasing } = setUp()
    void acquire('a')
    const released = release('a')
    await sent[0]?.fail()
    expect(await released).toBe(RELEASED)
    expect(releasing).toHaveBeenCalledTimes(2)
  })

  it('a release that overtakes the acquire request is not repeated if the request gets nothing', async () => {
    const { sent, acquire, release, releasing } = setUp()
    void acquire('a')
    const released = release('a')
    await sent[0]?.answer(REFUSED)
    expect(await released).toBe(RELEASED)
    expect(releasing).toHaveBeenCalledTimes(1)
  })

  it('a release that overtakes the acquire request does not wait for the request if it ended a lease', async () => {
    const { acquire, release, releasing } = setUp()
    void acquire('a')
    releasing.mockResolvedValueOnce(ENDED)
    expect(await release('a')).toBe(ENDED)
  })

  it('a release that overtakes the acquire request is not repeated if the id is asked for again', async () => {
    const { sent, acquire, release, releasing } = setUp()
    const caller = new AbortController()
    void acquire('a', caller)
    caller.abort()
    const released = release('a')
    const again = acquire('a')
    expect(await released).toBe(RELEASED)
    await sent[0]?.answer(GRANT)
    await sent[1]?.answer(GRANT)
    expect(await again).toBe(true)
    expect(releasing).toHaveBeenCalledTimes(1)
  })

  it('a release that overtakes the acquire request fails if the request has no answer for as long as a call may take', async () => {
    const { clock, acquire, release } = setUp()
    void acquire('a')
    const outcome = release('a').catch((error: LeaseError) => error.code)
    await clock.advance(CALL_TIMEOUT_MS + 100)
    expect(await outcome).toBe('store-unavailable')
  })
})

describe('close', () => {
  it.each([
    ['a lease', GRANT],
    ['a place in the queue', QUEUED_AT_STORE],
  ])('close ends when %s that a request still gets is released', async (_, answer) => {
    const { calls, sent, acquire, releasing } = setUp()
    const repeated = Promise.withResolvers<Released>()
    releasing.mockReturnValueOnce(repeated.promise)
    const outcome = acquire('a')
    const closed = vi.fn()
    const closing = calls.close().then(closed)
    expect(await outcome).toBe('closed')
    await sent[0]?.answer(answer)
    expect(releasing).toHaveBeenCalledTimes(1)
    expect(closed).not.toHaveBeenCalled()
    repeated.resolve(RELEASED)
    await closing
  })

  it('close leaves a lease that was granted before', async () => {
    const { calls, sent, acquire, releasing } = setUp()
    const outcome = acquire('a')
    await sent[0]?.answer(GRANT)
    await outcome
    await calls.close()
    expect(releasing).not.toHaveBeenCalled()
  })

  it('waits for releases, and does not reject their callers', async () => {
    const { calls, release, releasing } = setUp()
    const answer = Promise.withResolvers<Released>()
    releasing.mockReturnValueOnce(answer.promise)
    const released = release('a')
    const closed = vi.fn()
    const closing = calls.close().then(closed)
    await new Promise(setImmediate)
    expect(closed).not.toHaveBeenCalled()
    answer.resolve(RELEASED)
    expect(await released).toBe(RELEASED)
    await closing
  })

  it('close accepts releases until it has ended', async () => {
    const { calls, sent, acquire, release } = setUp()
    void acquire('a')
    const closing = calls.close()
    const releases = [release('a'), release('b')]
    await sent[0]?.answer(REFUSED)
    expect(await Promise.all(releases)).toEqual([RELEASED, RELEASED])
    await closing
    await expect(release('c')).rejects.toMatchObject({ code: 'closed' })
  })

  it('close accepts the release of a caller whose answer has just come', async () => {
    const { calls, sent, acquire, release, releasing } = setUp()
    const granted = acquire('a')
    void sent[0]?.answer(GRANT)
    let closing: Promise<void> | undefined
    const released = granted.then(() => {
      closing = calls.close()
      return Promise.resolve().then(() => release('a'))
    })
    expect(await released).toBe(RELEASED)
    await closing
    expect(releasing).toHaveBeenCalledTimes(1)
  })

  it('waits for them no longer than a call may take', async () => {
    const { clock, calls, acquire, release, releasing } = setUp()
    void acquire('a')
    releasing.mockReturnValueOnce(new Promise(() => {}))
    const outcome = release('b').catch((error: LeaseError) => error.code)
    const closing = calls.close()
    await clock.advance(CALL_TIMEOUT_MS)
    await closing
    expect(['closed', 'store-unavailable']).toContain(await outcome)
    expect(clock.pending).toBe(0)
  })

  it('close sets a timer that keeps the process alive until it has ended', async () => {
    const { clock, calls, acquire } = setUp()
    void acquire('a')
    const setTimer = vi.spyOn(clock as Clock, 'setTimer')
    const closing = calls.close()
    await new Promise(setImmediate)
    expect(setTimer.mock.calls.filter(([, , background]) => !background)).toHaveLength(1)
    await clock.advance(CALL_TIMEOUT_MS)
    await closing
  })
})

describe('the load', () => {
  it('the load has the mean duration of the latest calls', async () => {
    const { clock, calls, sent, acquire } = setUp()
    expect(calls.load.callTime).toBeNull()
    for (const ms of [100, 200]) {
      void acquire('a')
      await clock.advance(ms)
      await sent.at(-1)?.answer(GRANT)
    }
    expect(calls.load.callTime).toBeCloseTo(110)
  })
})

describe('maxInFlight', () => {
  it.each([0, -1, 1.5, '5', null])('%s is refused', (value) => {
    expect(() => setUp(value as number)).toThrow('maxInFlight: expected a whole number from 1')
  })
})
