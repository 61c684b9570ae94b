import { expect, it } from 'vitest'
import { createWire } from './wire.ts'

it('a wire carries calls in their order also if their timers fire in another one', () => {
  const timers: (() => void)[] = []
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    random: () => 0,
    setTimer(run: () => void) {
      timers.unshift(run)
      return () => {}
    },
  }
  const wire = createWire({ clock, random: () => 0, latency: [1, 1] })
  const arrived: number[] = []
  wire(() => arrived.push(1))
  wire(() => arrived.push(2))
  for (const fire of timers) fire()
  expect(arrived).toEqual([1, 2])
})
