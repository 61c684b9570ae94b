import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { Stop } from './abort.ts'
import { answerWithin } from './answer-within.ts'
import { LeaseError } from './errors.ts'

describe('an answer with a limit', () => {
  const never = new Promise<never>(() => {})
  const ms = 1000

  it('is the answer, or the error of the call', async () => {
    const clock = new FakeClock()
    expect(await answerWithin(Promise.resolve('answer'), { clock, ms })).toBe('answer')
    const error = new Error('no')
    await expect(answerWithin(Promise.reject(error), { clock, ms })).rejects.toBe(error)
    expect(clock.pending).toBe(0)
  })

  it('rejects with store-unavailable after the limit', async () => {
    const clock = new FakeClock()
    const { signal } = new AbortController()
    const late = expect(
      answerWithin(never, { clock, ms, stop: signal, resource: 'r' }),
    ).rejects.toMatchObject({
      code: 'store-unavailable',
      retryable: true,
      message: 'no answer from the store within 1000 ms',
      resource: 'r',
    })
    await clock.advance(1000)
    await late
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('names the trouble that the store knows of, with the error of the client as its cause', async () => {
    const clock = new FakeClock()
    const cause = new Error('connect ECONNREFUSED 127.0.0.1:6379')
    const trouble = () => new Error(`the client has never connected: ${cause.message}`, { cause })
    const late = expect(answerWithin(never, { clock, ms, trouble })).rejects.toMatchObject({
      message: `no answer from the store within 1000 ms; the client has never connected: ${cause.message}`,
      cause,
    })
    await clock.advance(1000)
    await late
  })

  it.each(['before', 'during'])(
    'ends with the reason of a stop or signal that comes %s the call',
    async (when) => {
      const clock = new FakeClock()
      for (const stop of [new AbortController(), new Stop()]) {
        const reason = new LeaseError('closed', 'enough')
        if (when === 'before') stop.abort(reason)
        const given = stop instanceof Stop ? stop : stop.signal
        const aborted = expect(answerWithin(never, { clock, ms, stop: given })).rejects.toBe(reason)
        stop.abort(reason)
        await aborted
        expect(clock.pending).toBe(0)
      }
    },
  )
})
