import { expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { request, TIMED_OUT } from './announce.ts'
import type { Messenger } from './messenger.ts'

it('a request whose signal has already aborted does not wait for an answer', async () => {
  const clock = new FakeClock()
  const silent: Messenger = { send: () => new Promise(() => {}), subscribe: () => () => {} }
  const answer = await request(silent, {}, { clock, ackTimeoutMs: 200, closing: AbortSignal.abort() })
  expect(answer).toBe(TIMED_OUT)
  expect(clock.pending).toBe(0)
})
