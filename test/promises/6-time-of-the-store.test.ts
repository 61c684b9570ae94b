import { describe, expect, it } from 'vitest'
import { createLeases } from '../../src/core/index.ts'
import { FakeClock } from '../../src/testing/index.ts'
import { setUp } from './set-up.ts'

describe('promise 6, time belongs to the store', () => {
  it('a manager judges nothing by comparing two clocks', async () => {
    const { clock, store } = setUp()
    const ahead = new FakeClock(clock.now() + 86_400_000)
    const behind = new FakeClock(clock.now() - 86_400_000)
    const first = await createLeases(store, { clock: ahead }).acquire('r')
    expect(first.held).toBe(true)
    expect(await createLeases(store, { clock: behind }).tryAcquire('r')).toBeNull()
    await first.release()
    expect((await createLeases(store, { clock: behind }).acquire('r')).held).toBe(true)
  })
})
