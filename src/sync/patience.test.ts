import { expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import type { Messenger } from './messenger.ts'
import { ask, TIMED_OUT } from './patience.ts'

it('does not wait for an answer when its signal has aborted before', async () => {
  const clock = new FakeClock()
  const silent: Messenger = { send: () => new Promise(() => {}), subscribe: () => () => {} }
  expect(await ask(silent, {}, { clock, ms: 200, signal: AbortSignal.abort() })).toBe(TIMED_OUT)
  expect(clock.pending).toBe(0)
})
