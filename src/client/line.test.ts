import { expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { standInLine } from './line.ts'
import type { LockCalls } from './lock-calls.ts'

it('ends the wait at once when it was told to stop while a refusal was on its way', async () => {
  const clock = new FakeClock()
  const stop = new AbortController()
  const refusing = {
    ask: async () => {
      stop.abort(new Error('enough'))
      return null
    },
  } as Partial<LockCalls> as LockCalls
  const waiting = standInLine({ calls: refusing, clock, wait: 30_000, stop: stop.signal })
  await expect(waiting).rejects.toThrow('enough')
  expect(clock.pending).toBe(0)
})
