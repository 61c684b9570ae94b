import { expect, it } from 'vitest'
import { FakeClock } from './fake-clock.ts'

it('time never goes back, also when two callers let it pass at once', async () => {
  const clock = new FakeClock()
  const started = clock.monotonic()
  await Promise.all([clock.advance(100), clock.advance(40)])
  expect(clock.monotonic() - started).toBe(100)
})
