import { describe, expect, it, vi } from 'vitest'
import { AnswerLimit } from '../base/answer-limit.ts'
import { FakeClock } from '../testing/index.ts'
import { writeUnlessChanged } from './optimistic.ts'

describe('a write that requires an unchanged record', () => {
  const decide = () => ({ answer: 'granted', fields: { lockOwner: 'a' } })

  it('a write that requires an unchanged record is repeated after each write of another', async () => {
    const clock = new FakeClock()
    const read = vi.fn(async () => 'record')
    const write = vi.fn(async () => write.mock.calls.length === 3)
    const answer = writeUnlessChanged({ read, write, limit: new AnswerLimit() }, decide, clock)
    await clock.advance(1000)
    expect(await answer).toBe('granted')
    expect([read.mock.calls.length, write.mock.calls.length]).toEqual([3, 3])
    expect(clock.pending).toBe(0)
  })

  it('a write that requires an unchanged record is not sent if the record was read only after callers gave up', async () => {
    const clock = new FakeClock()
    const limit = new AnswerLimit()
    limit.allow(6000)
    const { promise, resolve } = Promise.withResolvers<string>()
    const write = vi.fn(async () => true)
    const answer = writeUnlessChanged({ read: () => promise, write, limit }, decide, clock)
    const refused = expect(answer).rejects.toMatchObject({ code: 'store-unavailable' })
    await clock.advance(6001)
    resolve('record')
    await refused
    expect(write).not.toHaveBeenCalled()
  })

  it('a write that requires an unchanged record is sent however late the record was read, if no caller has a limit', async () => {
    const clock = new FakeClock()
    const { promise, resolve } = Promise.withResolvers<string>()
    const answer = writeUnlessChanged(
      { read: () => promise, write: async () => true, limit: undefined },
      decide,
      clock,
    )
    await clock.advance(60_000)
    resolve('record')
    expect(await answer).toBe('granted')
  })

  it('a write that requires an unchanged record is not followed by another read if it ended only after callers gave up', async () => {
    const clock = new FakeClock()
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const read = vi.fn(async () => 'record')
    const answer = writeUnlessChanged({ read, write: () => promise, limit: new AnswerLimit() }, decide, clock)
    const refused = expect(answer).rejects.toMatchObject({ code: 'store-unavailable' })
    await clock.advance(5001)
    resolve(false)
    await clock.advance(50)
    expect(read).toHaveBeenCalledOnce()
    await refused
  })
})
