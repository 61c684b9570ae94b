import { describe, expect, it } from 'vitest'
import { BlockedClock } from '../../test/blocked-clock.ts'
import { FakeClock } from '../testing/index.ts'
import { Stop } from './abort.ts'
import { answerWithin } from './answer-within.ts'
import { LeaseError } from './errors.ts'

describe('an answer with a limit', () => {
  const never = new Promise<never>(() => {})
  const ms = 1000

  it('is the answer, or the error of the call', async () => {
    const clock = new FakeClock()
    expect(await answerWithin(Promise.resolve('answer'), ms, { clock })).toBe('answer')
    const error = new Error('no')
    await expect(answerWithin(Promise.reject(error), ms, { clock })).rejects.toBe(error)
    expect(clock.pending).toBe(0)
  })

  it('rejects with store-unavailable after the limit', async () => {
    const clock = new FakeClock()
    const late = expect(answerWithin(never, ms, { clock }, 'r')).rejects.toMatchObject({
      code: 'store-unavailable',
      retryable: true,
      message: 'no answer from the store within 1000 ms',
      resource: 'r',
    })
    await clock.advance(1000)
    await late
  })

  it('has as much time again as the process was blocked, up to the limit', async () => {
    const clock = new BlockedClock()
    const answer = new Promise((resolve) => clock.setTimer(() => resolve('answer'), 1900))
    const late = answerWithin(answer, ms, { clock })
    const silent = expect(answerWithin(never, ms, { clock })).rejects.toMatchObject({
      message: 'no answer from the store within 1000 ms',
    })
    clock.blockedMs = 3000
    await clock.advance(2000)
    expect(await late).toBe('answer')
    await silent
  })

  it('is explained by the store if there is none', async () => {
    const clock = new FakeClock()
    const explain = (error: LeaseError) => new LeaseError(error.code, `${error.message}; never connected`)
    const late = expect(answerWithin(never, ms, { clock, store: { explain } })).rejects.toMatchObject({
      code: 'store-unavailable',
      message: 'no answer from the store within 1000 ms; never connected',
    })
    await clock.advance(1000)
    await late
  })

  it.each(['before', 'during'])('ends with the reason of a stop that comes %s the call', async (when) => {
    const clock = new FakeClock()
    const stop = new Stop()
    const reason = new LeaseError('closed', 'enough')
    if (when === 'before') stop.abort(reason)
    const aborted = expect(answerWithin(never, ms, { clock }, 'r', stop)).rejects.toBe(reason)
    stop.abort(reason)
    await aborted
    expect(clock.pending).toBe(0)
  })
})
