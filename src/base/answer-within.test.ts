import { describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { Stop } from './abort.ts'
import { answerWithin } from './answer-within.ts'
import { LeaseError } from './errors.ts'

describe('an answer with a limit', () => {
  const never = new Promise<never>(() => {})
  const ms = 1000

  it('an answer with a limit is the answer, or the error of the call', async () => {
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
      message: 'no answer within 1000 ms',
      resource: 'r',
    })
    await clock.advance(1000)
    await late
  })

  it('an answer with a limit loses a fifth of its limit while the process is blocked, however long', async () => {
    const timers: { readonly run: () => void; readonly ms: number }[] = []
    const clock = Object.assign(new FakeClock(), {
      setTimer(run: () => void, ms: number) {
        timers.push({ run, ms })
        return () => {}
      },
    })
    const { promise: answer, resolve } = Promise.withResolvers<string>()
    const late = answerWithin(answer, ms, { clock })
    // However late the first timer is, there is a second one.
    timers[0]?.run()
    expect(timers.map((timer) => timer.ms)).toEqual([200, 200])
    resolve('answer')
    expect(await late).toBe('answer')
  })

  it('an answer with a limit is explained by the store if there is none', async () => {
    const clock = new FakeClock()
    const explain = (error: LeaseError) => new LeaseError(error.code, `${error.message}; never connected`)
    const late = expect(answerWithin(never, ms, { clock, store: { explain } })).rejects.toMatchObject({
      code: 'store-unavailable',
      message: 'no answer within 1000 ms; never connected',
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
