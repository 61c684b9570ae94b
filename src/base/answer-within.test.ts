import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { answerWithin } from './answer-within.ts'

describe('an answer with a limit', () => {
  const never = new Promise<never>(() => {})

  it('is the answer, or the error of the call', async () => {
    const clock = new FakeClock()
    expect(await answerWithin(clock, 1000, Promise.resolve('answer'))).toBe('answer')
    const error = new Error('no')
    await expect(answerWithin(clock, 1000, Promise.reject(error))).rejects.toBe(error)
    expect(clock.pending).toBe(0)
  })

  it('rejects with store-unavailable after the limit', async () => {
    const clock = new FakeClock()
    const { signal } = new AbortController()
    const late = expect(answerWithin(clock, 1000, never, signal)).rejects.toMatchObject({
      code: 'store-unavailable',
      retryable: true,
      message: 'no answer from the store within 1000 ms',
    })
    await clock.advance(1000)
    await late
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it.each(['before', 'during'])(
    'rejects with the reason of a signal that aborts %s the call',
    async (when) => {
      const clock = new FakeClock()
      const stop = new AbortController()
      const reason = new Error('enough')
      if (when === 'before') stop.abort(reason)
      const aborted = expect(answerWithin(clock, 1000, never, stop.signal)).rejects.toBe(reason)
      stop.abort(reason)
      await aborted
      expect(clock.pending).toBe(0)
    },
  )
})
