import { expect, it } from 'vitest'
import { millisecondsOf } from './bucket.ts'

it('the time of a message is rounded down to milliseconds, also if a floating point number would round it up', () => {
  expect(millisecondsOf(1_763_477_331_123_999_999n)).toBe(1_763_477_331_123)
  expect(Math.floor(Number(1_763_477_331_123_999_999n) / 1_000_000)).toBe(1_763_477_331_124)
})
