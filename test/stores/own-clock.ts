import { onTestFinished, vi } from 'vitest'
import { systemClock } from '../../src/core/index.ts'
import { FakeClock } from '../../src/testing/index.ts'

/** A clock of the test in the place of the system's until the test ends, for what a store times by itself. */
export function ownSystemClock(): FakeClock {
  const clock = new FakeClock()
  const spies = [
    vi.spyOn(systemClock, 'now').mockImplementation(() => clock.now()),
    vi.spyOn(systemClock, 'monotonic').mockImplementation(() => clock.monotonic()),
    vi.spyOn(systemClock, 'setTimer').mockImplementation((run, ms) => clock.setTimer(run, ms)),
  ]
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
  })
  return clock
}
