import { expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { type Messenger, request, TIMED_OUT } from './messenger.ts'

it('a request whose signal has already aborted does not wait for an answer', async () => {
  const clock = new FakeClock()
  const silent: Messenger = { send: () => new Promise(() => {}), subscribe: () => () => {} }
  const answer = await request(silent, {}, { clock, timeoutMs: 200, signal: AbortSignal.abort() })
  expect(answer).toBe(TIMED_OUT)
  expect(clock.pending).toBe(0)
})
